// SPDX-License-Identifier: BSD-3-Clause
//
// Faults of this process's ports, begun and ended in their time. What others must see is set in the
// port's shared part; what only this process's threads notice is kept here.
//
// Thread rules: schedule() before the service thread runs, or on it; run() and deadline() on it; the rest
// on any thread.
#pragma once

#include "fault.h"
#include "sizes.h"

#include <atomic>
#include <vector>

namespace softrdma {

class process;

class fault_injector {
public:
    explicit fault_injector(process &owner) : m_owner(owner)
    {
    }

    // Its times count from `now`.
    void schedule(const fault &wanted, uint64_t now);

    // Takes new orders, begins and ends what is due.
    void run();

    // When run() has something to do, now_ns() time; UINT64_MAX never.
    uint64_t deadline() const;

    // Whether polling and posting threads are concerned.
    bool disturbs() const
    {
        return m_disturbances.load(std::memory_order_relaxed) != 0;
    }

    // Returns when no stall lasts.
    void wait_out_stall() const;

    // How much later a completion can be polled.
    uint64_t completion_delay(uint32_t device) const
    {
        return m_completion_delay[device].load(std::memory_order_relaxed);
    }

    // A completion was withheld until then: whoever waits for an event must be woken.
    void announce_completions_at(uint64_t when);

private:
    struct timed_fault {
        uint64_t when;
        fault what;
    };

    // How many ports, queue pairs or processes it hit.
    int begin(const fault &wanted, uint64_t now);
    int begin_on(uint32_t device, const fault &wanted);
    void end(fault_kind kind, uint32_t device);
    int fail_queue_pairs(uint32_t device, uint32_t qpn);
    void remove_device(uint32_t device);
    void take_orders(uint64_t now);
    void announce_completions();
    void count_disturbances();

    process &m_owner;
    std::vector<timed_fault> m_coming;
    std::vector<timed_fault> m_lasting; // `when` they end
    std::atomic<uint32_t> m_disturbances{0};
    std::atomic<uint64_t> m_stalled_until{0};
    std::atomic<uint64_t> m_completion_delay[limits::devices] = {};
    std::atomic<uint64_t> m_announce_at{UINT64_MAX};
};

} // namespace softrdma
