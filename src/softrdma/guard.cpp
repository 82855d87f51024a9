// SPDX-License-Identifier: BSD-3-Clause
#include "guard.h"

#include "clock.h"
#include "log.h"

#include <sched.h>

namespace softrdma {

constinit thread_local uint32_t own_record = 0;

namespace {

constexpr uint64_t patience_ns = 2'000'000'000;
constexpr uint64_t look_ns     = 1'000'000; // between two looks at whether it lives

std::atomic<uint32_t> next_thread{1};

bool busy_toward(uint64_t word, uint32_t slot)
{
    return ((word & 1) != 0) && (((word >> 1) & 0x7fff) == slot);
}

// Until the record changes or its process is gone.
bool wait_for_end(registry &where, uint32_t slot, std::atomic<uint64_t> &record,
                  uint64_t word)
{
    uint64_t generation = where.entry(slot).holder.load(std::memory_order_acquire);
    uint64_t give_up    = now_ns() + patience_ns;
    uint64_t next_look  = now_ns() + look_ns;
    while (record.load(std::memory_order_seq_cst) == word) {
        sched_yield();
        uint64_t now = now_ns();
        if (now < next_look) {
            continue;
        }
        next_look = now + look_ns;
        if (!where.alive(slot, generation)) {
            return true;
        }
        if (now > give_up) {
            SOFTRDMA_LOG_ONCE(
                    warn,
                    "process %u has been inside an operation for 2 s (is it stopped?); "
                    "the memory it may touch is set aside",
                    where.entry(slot).pid.load());
            return false;
        }
    }
    return true;
}

} // namespace

// Threads have records of their own as long as there are enough.
void execution_guard::announce_anywhere(registry &where, uint32_t target_slot)
{
    if (own_record == 0) {
        uint32_t thread = next_thread.fetch_add(1, std::memory_order_relaxed);
        own_record      = 1 + thread % limits::guards;
    }
    for (uint32_t turn = 0;; ++turn) {
        if (announce(where, own_record - 1, target_slot) ||
            announce(where, turn % limits::guards, target_slot)) {
            return;
        }
        if (turn >= limits::guards) {
            sched_yield();
        }
    }
}

bool quiesce(registry &where, uint32_t target_slot, bool own_only)
{
    bool complete  = true;
    uint32_t first = own_only ? where.own_slot() : 1;
    uint32_t last  = own_only ? where.own_slot() : where.high_slot();
    for (uint32_t slot = first; slot <= last; ++slot) {
        if (where.entry(slot).holder.load(std::memory_order_seq_cst) == 0) {
            continue;
        }
        guard_record *records = where.guards(slot);
        for (uint32_t i = 0; i < limits::guards; ++i) {
            uint64_t word = records[i].word.load(std::memory_order_seq_cst);
            if (busy_toward(word, target_slot)) {
                complete &= wait_for_end(where, slot, records[i].word, word);
            }
        }
    }
    return complete;
}

} // namespace softrdma
