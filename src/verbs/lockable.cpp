// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/lockable.hpp"

#include <cstdlib>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace be::verbs {
namespace {

bool may_lock_anything() noexcept
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    return ::syscall(SYS_capget, &header, sets) == 0 &&
           (sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

// What is no number is the device's to complain of.
std::uint64_t soft_limit() noexcept
{
    const char *text          = std::getenv("SOFTRDMA_LOCKED");
    const unsigned long value = text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
    return value == 0 || value > 1ul << 20 ? no_limit : std::uint64_t{value} << 20;
}

} // namespace

std::uint64_t lockable_memory(bool soft) noexcept
{
    if (soft) {
        return soft_limit();
    }
    rlimit limit;
    if (may_lock_anything() || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return no_limit;
    }
    return limit.rlim_cur;
}

} // namespace be::verbs
