// SPDX-License-Identifier: BSD-3-Clause
#include "shared_lock.h"

#include "clock.h"
#include "log.h"
#include "process.h"

#include <sched.h>

namespace softrdma {
namespace {

constexpr uint32_t spins_before_yield = 64;
// The owner's life is looked at, in /proc, after this long. Not counted in yields: on a busy machine one of
// them can take a time slice of everybody else.
constexpr uint64_t patience_ns = 1'000'000;

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
    uint64_t next_look = 0;
    for (uint32_t spin = 1;; ++spin) {
        owner_token owner = m_owner.load(std::memory_order_relaxed);
        if (owner == 0) {
            if (m_owner.compare_exchange_weak(owner, me, std::memory_order_acquire)) {
                return false;
            }
            continue;
        }
        if (spin < spins_before_yield) {
            pause_briefly();
            continue;
        }
        sched_yield();
        uint64_t now = now_ns();
        if (next_look == 0) {
            next_look = now + patience_ns;
        }
        if (now < next_look) {
            continue;
        }
        next_look     = now + patience_ns;
        process *here = process::attached();
        if ((owner != me) && (here != nullptr) && !here->reg.alive(owner) &&
            m_owner.compare_exchange_strong(owner, me, std::memory_order_acquire)) {
            SOFTRDMA_LOG(debug, "took a lock over from a dead process");
            return true;
        }
    }
}

} // namespace softrdma
