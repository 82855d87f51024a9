// SPDX-License-Identifier: BSD-3-Clause

#include "control/failure_limiter.hpp"

#include <algorithm>

namespace be::control {

namespace {

// Of an IPv6 address only the network counts: its owner has 2^64 addresses in it.
FailureLimiter::Ip owner_of(const FailureLimiter::Ip &source)
{
    auto owner = source;

    if (!Address{source, 0}.is_v4()) {
        std::fill(owner.begin() + owner.size() / 2, owner.end(), std::uint8_t{0});
    }
    return owner;
}

} // namespace

FailureLimiter::FailureLimiter(unsigned burst, Time::duration refill) :
    m_refill(refill), m_tolerance(refill * (std::max(burst, 1u) - 1))
{
}

bool FailureLimiter::admits(const Ip &source, Time now) const
{
    auto position = m_full_at.find(owner_of(source));

    return (position == m_full_at.end()) || (position->second - now <= m_tolerance);
}

void FailureLimiter::failed(const Ip &source, Time now)
{
    auto owner = owner_of(source);

    if (!m_full_at.contains(owner)) {
        make_room(now);
    }
    auto &full_at = m_full_at[owner];
    full_at       = std::max(full_at, now) + m_refill;
}

void FailureLimiter::succeeded(const Ip &source)
{
    m_full_at.erase(owner_of(source));
}

// For one more.
void FailureLimiter::make_room(Time now)
{
    if (m_full_at.size() < max_addresses) {
        return;
    }

    std::erase_if(m_full_at, [&](const auto &entry) { return entry.second <= now; });
    if (m_full_at.size() == max_addresses) {
        m_full_at.erase(std::min_element(m_full_at.begin(), m_full_at.end(),
                                         [](const auto &a, const auto &b) {
                                             return a.second < b.second;
                                         }));
    }
}

} // namespace be::control
