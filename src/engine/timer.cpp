// SPDX-License-Identifier: BSD-3-Clause

#include "engine/timer.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

namespace be::engine {

Timer::Timer(bool wanted)
{
    if (wanted) {
        m_fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (m_fd < 0) {
            throw std::system_error(errno, std::system_category(),
                                    "cannot create a timer to wake up by");
        }
    }
}

Timer::~Timer()
{
    if (m_fd >= 0) {
        ::close(m_fd);
    }
}

// Setting it also takes back that it is readable.
void Timer::set(std::uint64_t due_ns) noexcept
{
    constexpr std::uint64_t second = 1'000'000'000;
    if (m_fd < 0 || (due_ns == m_due && due_ns == ~std::uint64_t{0})) {
        return;
    }
    itimerspec when{};
    if (due_ns != ~std::uint64_t{0}) {
        const std::uint64_t at = std::max<std::uint64_t>(due_ns, 1); // 0 would be never
        when.it_value.tv_sec   = static_cast<time_t>(
                std::min<std::uint64_t>(at / second, std::uint64_t{1} << 40));
        when.it_value.tv_nsec = static_cast<long>(at % second);
    }
    m_due = due_ns;
    (void)::timerfd_settime(m_fd, TFD_TIMER_ABSTIME, &when, nullptr);
}

} // namespace be::engine
