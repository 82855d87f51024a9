// SPDX-License-Identifier: BSD-3-Clause
#include "shared_lock.h"

#include "log.h"
#include "process.h"

#include <sched.h>

namespace softrdma {
namespace {

constexpr uint32_t spins_before_yield = 64;
constexpr uint32_t spins_before_check = 4096; // of the owner's life: a look into /proc

void pause_briefly()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

bool shared_lock::lock_slow(owner_token me)
{
    for (uint32_t spin = 1;; ++spin) {
        owner_token owner = m_owner.load(std::memory_order_relaxed);
        if (owner == 0) {
            if (m_owner.compare_exchange_weak(owner, me, std::memory_order_acquire)) {
                return false;
            }
            continue;
        }
        pause_briefly();
        if (spin > spins_before_yield) {
            sched_yield();
        }
        if ((spin % spins_before_check == 0) && (owner != me) &&
            !process::get()->reg.alive(owner) &&
            m_owner.compare_exchange_strong(owner, me, std::memory_order_acquire)) {
            SOFTRDMA_LOG(debug, "took a lock over from a dead process");
            return true;
        }
    }
}

} // namespace softrdma
