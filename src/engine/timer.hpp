// SPDX-License-Identifier: BSD-3-Clause
//
// A descriptor that becomes readable at a time. Not made at all unless wanted: then fd() is -1 and the rest does
// nothing.

#pragma once

#include <cstdint>

namespace be::engine {

class Timer {
public:
    explicit Timer(bool wanted); // throws std::system_error
    ~Timer();
    Timer(const Timer &)            = delete;
    Timer &operator=(const Timer &) = delete;

    int fd() const noexcept
    {
        return m_fd;
    }

    // At that time of the monotonic clock, ns; ~0: not at all. Whatever was set before is forgotten.
    void set(std::uint64_t due_ns) noexcept;

private:
    int m_fd            = -1;
    std::uint64_t m_due = ~std::uint64_t{0};
};

} // namespace be::engine
