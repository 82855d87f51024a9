// SPDX-License-Identifier: BSD-3-Clause
//
// Who is executing toward whom. An initiator touches memory of the target process (its rings through
// the mapped segment, its buffers by address), so the target may only give that memory away when no
// execution that could still know it is running. Each execution is therefore announced in the registry;
// quiesce() waits until every execution toward this process that began before has ended. A dead
// initiator's announcements do not count. What closes an object (its state or key) is stored, and looked at
// by executions, sequentially consistent: either the execution sees it closed or quiesce() sees the
// execution.
//
// Cost: one exchange on a private cache line when it begins, one store when it ends.
#pragma once

#include "registry.h"

namespace softrdma {

// 1 + the record in which this thread announces its executions; 0 before the first. Not its address: a forked child
// has other records. Initial-exec: a call of the loader for each message is too much.
extern constinit
        __attribute__((tls_model("initial-exec"))) thread_local uint32_t own_record;

class execution_guard {
public:
    execution_guard(registry &where, uint32_t target_slot)
    {
        if ((own_record == 0) || !announce(where, own_record - 1, target_slot))
                [[unlikely]] {
            announce_anywhere(where, target_slot);
        }
    }
    ~execution_guard()
    {
        m_record->store(m_word & ~uint64_t{1}, std::memory_order_release);
    }
    execution_guard(const execution_guard &)            = delete;
    execution_guard &operator=(const execution_guard &) = delete;

private:
    // False when another thread uses the record.
    bool announce(registry &where, uint32_t index, uint32_t target_slot)
    {
        std::atomic<uint64_t> &record = where.guards(where.own_slot())[index].word;

        uint64_t word = record.load(std::memory_order_relaxed);
        m_word        = (((word >> 16) + 1) << 16) | (uint64_t{target_slot} << 1) | 1;
        m_record      = &record;
        // Sequentially consistent: pairs with the owner that closes an object and then reads.
        return ((word & 1) == 0) &&
               record.compare_exchange_strong(word, m_word, std::memory_order_seq_cst);
    }
    void announce_anywhere(registry &where, uint32_t target_slot);

    std::atomic<uint64_t> *m_record;
    uint64_t m_word;
};

// Waits for the executions toward `target_slot` that are running now; only those of this process when
// `own_only`. False when one of them, in a live (say, stopped) process, did not end within two seconds:
// the caller then must not reuse shared memory.
bool quiesce(registry &where, uint32_t target_slot, bool own_only = false);

} // namespace softrdma
