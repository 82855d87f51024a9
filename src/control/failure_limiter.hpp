// SPDX-License-Identifier: BSD-3-Clause
//
// Who has failed to authenticate too often, by source address: a token bucket each.
// A failure takes a token, time gives it back, a success gives back all; while the
// bucket is empty the address is not admitted. Memory is bounded: of too many
// addresses the least guilty is forgotten.
//
// Pure: time is given. Not thread-safe.

#pragma once

#include "control/address.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>

namespace be::control {

class FailureLimiter {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Ip   = decltype(Address::ip);

    static constexpr std::size_t max_addresses = 1024;

    // A bucket holds `burst` tokens (at least 1) and gets one back each `refill`.
    FailureLimiter(unsigned burst, Time::duration refill);

    bool admits(const Ip &source, Time now) const;
    void failed(const Ip &source, Time now);
    void succeeded(const Ip &source);

    std::size_t size() const noexcept
    {
        return m_full_at.size();
    }

private:
    void make_room(Time now);

    Time::duration m_refill;
    Time::duration m_tolerance; // time to fill a bucket that lacks all but one token
    std::map<Ip, Time> m_full_at; // when the bucket will be full again
};

} // namespace be::control
