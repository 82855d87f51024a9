// SPDX-License-Identifier: BSD-3-Clause
#include "faults.h"

#include "clock.h"
#include "context.h"
#include "cq.h"
#include "guard.h"
#include "log.h"
#include "process.h"
#include "qp.h"

#include <algorithm>
#include <cerrno>

namespace softrdma {
namespace {

void raise_on(process &owner, uint32_t device, ibv_event_type event)
{
    for (const auto &context : owner.contexts.snapshot()) {
        if (context->device == device) {
            context->raise(event, nullptr);
        }
    }
}

} // namespace

void fault_injector::schedule(const fault &wanted, uint64_t now)
{
    m_coming.push_back({now + wanted.after_ns, wanted});
}

uint64_t fault_injector::deadline() const
{
    uint64_t first = m_announce_at.load(std::memory_order_relaxed);
    for (const timed_fault &next : m_coming) {
        first = std::min(first, next.when);
    }
    for (const timed_fault &next : m_lasting) {
        first = std::min(first, next.when);
    }
    return first;
}

void fault_injector::run()
{
    uint64_t now = now_ns();
    take_orders(now);

    // In the order of their times: what ends may begin again later.
    auto by_time = [](const timed_fault &a, const timed_fault &b) {
        return a.when < b.when;
    };
    std::stable_sort(m_lasting.begin(), m_lasting.end(), by_time);
    while (!m_lasting.empty() && (m_lasting.front().when <= now)) {
        fault over = m_lasting.front().what;
        m_lasting.erase(m_lasting.begin());
        end(over.kind, over.device);
    }
    std::stable_sort(m_coming.begin(), m_coming.end(), by_time);
    while (!m_coming.empty() && (m_coming.front().when <= now)) {
        fault due = m_coming.front().what;
        m_coming.erase(m_coming.begin());
        begin(due, now);
    }
    if (m_announce_at.load(std::memory_order_relaxed) <= now) {
        announce_completions();
    }
}

void fault_injector::take_orders(uint64_t now)
{
    order_box &box = m_owner.reg.orders(m_owner.reg.own_slot());
    uint32_t taken = box.taken.load(std::memory_order_relaxed);
    while (taken != box.posted.load(std::memory_order_acquire)) {
        const fault &next = box.orders[taken % order_slots];
        int hit           = 1;
        if (next.after_ns != 0) {
            schedule(next, now);
        } else {
            hit = begin(next, now);
        }
        box.hits[taken % order_slots] = hit;
        box.taken.store(++taken, std::memory_order_release);
    }
}

int fault_injector::begin(const fault &wanted, uint64_t now)
{
    uint32_t first = (wanted.device == any_device) ? 0 : wanted.device;
    uint32_t last  = (wanted.device == any_device) ? m_owner.config.devices - 1 :
                                                     wanted.device;
    int hit        = 0;
    SOFTRDMA_LOG(info, "fault %s", to_string(wanted.kind));
    if (wanted.kind == fault_kind::stall) {
        m_stalled_until.store(now + wanted.for_ns, std::memory_order_relaxed);
        hit = 1;
    }
    for (uint32_t device = first; (device <= last) && (device < m_owner.config.devices);
         ++device) {
        // The latest word counts: it also says when it is over.
        std::erase_if(m_lasting, [&](const timed_fault &old) {
            return (old.what.kind == wanted.kind) && (old.what.device == device);
        });
        hit += begin_on(device, wanted);
        if (wanted.for_ns != 0) {
            fault over  = wanted;
            over.device = device;
            m_lasting.push_back({now + wanted.for_ns, over});
        }
    }
    count_disturbances();
    return hit;
}

int fault_injector::begin_on(uint32_t device, const fault &wanted)
{
    port_shared &port = m_owner.reg.port(m_owner.reg.own_slot(), device);
    switch (wanted.kind) {
    case fault_kind::qp_error:
        return fail_queue_pairs(device, wanted.qpn);
    case fault_kind::link_down:
        if ((port.condition.fetch_or(port_link_down) & port_link_down) == 0) {
            raise_on(m_owner, device, IBV_EVENT_PORT_ERR);
        }
        return 1;
    case fault_kind::link_up:
        end(fault_kind::link_down, device);
        return 1;
    case fault_kind::device_removed:
        remove_device(device);
        return 1;
    case fault_kind::stall:
        return 0; // of the process, not of a device
    case fault_kind::completion_delay:
        m_completion_delay[device].store(wanted.amount_ns, std::memory_order_relaxed);
        return 1;
    case fault_kind::no_receives:
        port.receives_refused.store(wanted.count);
        port.condition.fetch_or(port_no_receives);
        return 1;
    case fault_kind::bit_flip:
        port.arrivals_corrupted.store(wanted.count);
        port.condition.fetch_or(port_corrupting);
        return 1;
    case fault_kind::clear:
        for (fault_kind kind : {fault_kind::link_down, fault_kind::completion_delay,
                                fault_kind::no_receives, fault_kind::bit_flip}) {
            end(kind, device);
        }
        return 1;
    }
    return 0;
}

void fault_injector::end(fault_kind kind, uint32_t device)
{
    port_shared &port = m_owner.reg.port(m_owner.reg.own_slot(), device);
    std::erase_if(m_lasting, [&](const timed_fault &old) {
        return (old.what.kind == kind) && (old.what.device == device);
    });
    switch (kind) {
    case fault_kind::link_down:
        if ((port.condition.fetch_and(~uint32_t{port_link_down}) & port_link_down) != 0) {
            raise_on(m_owner, device, IBV_EVENT_PORT_ACTIVE);
        }
        break;
    case fault_kind::completion_delay:
        m_completion_delay[device].store(0, std::memory_order_relaxed);
        announce_completions();
        break;
    case fault_kind::no_receives:
        port.condition.fetch_and(~uint32_t{port_no_receives});
        break;
    case fault_kind::bit_flip:
        port.condition.fetch_and(~uint32_t{port_corrupting});
        break;
    default:
        break;
    }
    count_disturbances();
}

int fault_injector::fail_queue_pairs(uint32_t device, uint32_t qpn)
{
    int hit = 0;
    for (const auto &qp : m_owner.qps.snapshot()) {
        bool wanted = (qpn == 0) || (qp->qp_base.qp_num == qpn);
        if (wanted && (qp->device == device) && qp->fail_connected(true)) {
            ++hit;
        }
    }
    return hit;
}

void fault_injector::remove_device(uint32_t device)
{
    port_shared &port = m_owner.reg.port(m_owner.reg.own_slot(), device);
    if ((port.condition.fetch_or(port_removed) & port_removed) != 0) {
        return;
    }
    // No request can move a queue pair of it any more, so that here is where what is arriving comes to its end: nothing
    // does after the event, and what has arrived can be polled.
    quiesce(m_owner.reg, m_owner.reg.own_slot());
    end(fault_kind::completion_delay, device);
    for (const auto &cq : m_owner.cqs.snapshot()) {
        if (device_context::from(cq->context)->device == device) {
            cq->release_withheld();
        }
    }
    for (const auto &qp : m_owner.qps.snapshot()) {
        if (qp->device == device) {
            qp->fail_connected(false);
        }
    }
    raise_on(m_owner, device, IBV_EVENT_DEVICE_FATAL);
}

void fault_injector::count_disturbances()
{
    uint32_t number = m_stalled_until.load(std::memory_order_relaxed) > now_ns();
    for (const auto &delay : m_completion_delay) {
        number += delay.load(std::memory_order_relaxed) != 0;
    }
    m_disturbances.store(number, std::memory_order_release);
}

void fault_injector::wait_out_stall() const
{
    for (;;) {
        uint64_t until = m_stalled_until.load(std::memory_order_relaxed);
        if (now_ns() >= until) {
            return;
        }
        timespec when{static_cast<time_t>(until / 1'000'000'000),
                      static_cast<long>(until % 1'000'000'000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    }
}

void fault_injector::announce_completions_at(uint64_t when)
{
    uint64_t known = m_announce_at.load(std::memory_order_relaxed);
    while (when < known) {
        if (m_announce_at.compare_exchange_weak(known, when)) {
            m_owner.background.wake();
            return;
        }
    }
}

void fault_injector::announce_completions()
{
    m_announce_at.store(UINT64_MAX);
    for (const auto &cq : m_owner.cqs.snapshot()) {
        cq->announce_withheld();
    }
}

} // namespace softrdma
