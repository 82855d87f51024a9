// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory is locked, and the system limits how much of it a process may have (RLIMIT_MEMLOCK, often 8 MiB).
#pragma once

#include <cstdint>

namespace be::verbs {

inline constexpr std::uint64_t no_limit = UINT64_MAX;

// Bytes that this process may register in all; no_limit with CAP_IPC_LOCK. `soft`: on the software device, whose limit is
// SOFTRDMA_LOCKED. A user namespace may show a capability that the kernel does not accept for this: then the limit is met
// when registering fails.
std::uint64_t lockable_memory(bool soft) noexcept;

} // namespace be::verbs
