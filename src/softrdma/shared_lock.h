// SPDX-License-Identifier: BSD-3-Clause
//
// A spin lock in shared memory that outlives its owner. The word holds who owns it (registry slot and
// generation), so that a waiter can find out that the owner died and take the lock over. The critical
// sections are a few stores long and ordered so that they can be abandoned anywhere; what the new owner
// has to repair after a theft is said where lock() returns true.
//
// Thread rules: any thread of any attached process; not recursive.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrdma {

// slot << 22 | low 22 bits of the slot's generation; 0 is nobody.
using owner_token = uint32_t;

constexpr owner_token make_token(uint32_t slot, uint64_t generation)
{
    return (slot << 22) | static_cast<uint32_t>(generation & 0x3fffff);
}

class shared_lock {
public:
    // True when the lock was taken from a dead owner.
    bool lock(owner_token me)
    {
        owner_token nobody = 0;
        if (m_owner.compare_exchange_strong(nobody, me, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
            return false;
        }
        return lock_slow(me);
    }

    void unlock()
    {
        m_owner.store(0, std::memory_order_release);
    }

private:
    bool lock_slow(owner_token me);

    std::atomic<owner_token> m_owner;
};

} // namespace softrdma
