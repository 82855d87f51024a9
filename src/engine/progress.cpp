// SPDX-License-Identifier: BSD-3-Clause
//
// Progress and sleeping.

#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace be::engine {
namespace {

// How often the protocol hears of the time: its own default period of activity.
constexpr std::uint64_t tick_interval_ns = core::FlowConfig{}.active_ns;

} // namespace

unsigned Fabric::poll()
{
    unsigned events = poll_receives();
    // What has arrived goes first: whoever waits for it waits for this function to return.
    if (m_sends_outstanding != 0 && (events == 0 || ++m_sends_put_off == send_patience) &&
        sends_due()) {
        m_sends_put_off = 0;
        events += poll_sends();
    }
    if (m_inbox.pending()) {
        events += handle_control();
    }
    if (!m_deferred.empty()) {
        events += retry_deferred();
    }
    if (!m_draining.empty() || !m_expected.empty()) {
        events += finish_drains();
    }
    if (m_flow.byte_waits() != 0) {
        look_for_bytes();
    }
    if (m_bulk_due) {
        pump_bulk();
    }
    if (m_free_due) {
        free_dead_peers();
    }
    return events;
}

unsigned Fabric::poll_receives()
{
    int count = std::exchange(m_stashed_receives, 0);
    if (count == 0) {
        count = m_receive_cq.poll(m_receive_completions);
    }
    if (count <= 0) {
        if (count < 0) {
            queue_failure("receive");
        }
        if ((++m_idle_polls % idle_polls_to_refill) == 0 || m_flow.tick_needed())
                [[unlikely]] {
            look_around();
        }
        return 0;
    }

    const std::uint64_t time = (++m_batches % batches_per_look) == 0 ? now() : m_now;

    for (int i = 0; i < count; ++i) {
        on_arrival(m_receive_completions[i], time);
    }
    tick(time);
    if (m_receives.batch_due()) {
        refill_receives();
    }
    if (!m_deferred.empty()) {
        retry_deferred();
    }
    return static_cast<unsigned>(count);
}

// There is nothing to do, and perhaps something that was put off.
void Fabric::look_around()
{
    (void)now();
    // A few missing receives wait for company, but nobody waits for them for long.
    if (m_receives.missing() &&
        (m_flow.pool().pressing() || (m_idle_polls % idle_polls_to_rest) == 0)) {
        refill_receives();
    }
    if (m_flow.tick_needed()) {
        tick(m_now);
    }
}

// Could something be in the completion queue of sends? Work that asked for no completion raises one when it fails.
bool Fabric::sends_due() noexcept
{
    return m_signals != 0 || m_stashed_sends != 0 || !m_draining.empty() ||
           (m_idle_polls % idle_polls_per_look) == 0;
}

void Fabric::tick(std::uint64_t time)
{
    if (time - m_ticked >= tick_interval_ns) {
        m_ticked = time;
        flow_event([&](core::Actions &actions) { m_flow.tick(time, actions); });
    }
}

unsigned Fabric::poll_sends()
{
    int count = std::exchange(m_stashed_sends, 0);
    if (count == 0) {
        count = m_send_cq.poll(m_send_completions);
    }
    if (count <= 0) {
        if (count < 0) {
            queue_failure("send");
        }
        return 0;
    }

    for (int i = 0; i < count; ++i) {
        on_sent(m_send_completions[i]);
    }
    pump_bulk();
    return static_cast<unsigned>(count);
}

void Fabric::on_sent(const ibv_wc &wc)
{
    m_signals -= std::min(m_signals, 1u); // one that failed may not have asked
    const auto tag      = static_cast<std::uint32_t>(wc.wr_id >> 32);
    const auto number   = static_cast<std::uint32_t>(wc.wr_id);
    const QueueRef &ref = m_queues[tag & queue_index_mask];
    if (ref.peer == nullptr || ref.generation != tag >> queue_index_bits) {
        return; // of a queue pair that has been destroyed
    }

    Peer &peer       = *ref.peer;
    SendQueue &queue = ref.bulk ? peer.bulk : peer.messages;
    const auto done  = [&](be_status_t status) {
        return [this, &peer, status](const Slot &slot) { retired(peer, slot, status); };
    };
    if (wc.status == IBV_WC_SUCCESS) {
        queue.retire(number, done(BE_OK));
    } else {
        // What came before and asked for no completion went well.
        queue.retire(number - 1, done(BE_OK));
        queue.retire(number, done(BE_ERR_PEER_FAILED));
        m_counters.rnr += wc.status == IBV_WC_RNR_RETRY_EXC_ERR;
        if (peer.usable()) {
            fail(peer, BE_ERR_PEER_FAILED,
                 fmt::format("{} queue pair {:#x} on {}: {} (vendor error {:#x})",
                             ref.bulk ? "bulk" : "message", queue.qp().number(),
                             m_device->context().device(), verbs::to_string(wc.status),
                             wc.vendor_err));
        }
    }
    if (peer.admitted[0] + peer.admitted[1] != 0 && peer.usable()) {
        post_admitted(peer);
    }
    if (!peer.flushing.empty()) {
        check_waiters(peer);
    }
    ++m_freed;
    freed(peer);
    if (std::exchange(m_short, false)) [[unlikely]] {
        wake_all();
    }
}

void Fabric::retired(Peer &peer, const Slot &slot, be_status_t status)
{
    --m_sends_outstanding;
    if (slot.buffer != nullptr) {
        (void)m_staging.put(slot.buffer);
    }
    if (slot.bytes != 0 && slot.kind != Slot::Kind::bulk) {
        m_flow.bulk_done(peer.index, slot.bytes);
    }
    peer.lost |= status != BE_OK && slot.kind != Slot::Kind::marker;
    switch (slot.kind) {
    case Slot::Kind::marker:
        return;
    case Slot::Kind::plain:
        break;
    case Slot::Kind::notify:
        if (Member *owner = member(slot.member); owner != nullptr) {
            --owner->zero_copies;
            owner->complete(slot.object, status);
        }
        break;
    case Slot::Kind::direct:
        ++static_cast<Link *>(slot.object)->bulk[0].done;
        break;
    case Slot::Kind::bulk:
        piece_done(peer, *static_cast<BulkOperation *>(slot.object), slot.bytes, status);
        break;
    }
}

be_status_t Fabric::arm()
{
    if (m_inbox.pending() || m_stashed_receives != 0 || m_stashed_sends != 0) {
        return BE_ERR_BUSY;
    }
    if (!fall_asleep()) {
        return BE_ERR_IO;
    }
    // What came in between would raise no event: take it, progress() will handle it.
    m_stashed_receives = std::max(0, m_receive_cq.poll(m_receive_completions));
    m_stashed_sends    = std::max(0, m_send_cq.poll(m_send_completions));
    return m_stashed_receives + m_stashed_sends != 0 ? BE_ERR_BUSY : BE_OK;
}

void Fabric::refill_receives()
{
    int error            = 0;
    const unsigned count = m_receives.post(&error);
    if (error != 0 && !m_receive_error_logged) {
        m_receive_error_logged = true;
        log(BE_LOG_ERROR, "{}: posting receives failed: {} (errno {})",
            m_device->context().device(), std::system_category().message(error), error);
    }
    if (count != 0) {
        flow_event(
                [&](core::Actions &actions) { m_flow.reposted(count, now(), actions); });
    }
}

void Fabric::queue_failure(const char *what)
{
    if (m_queue_failed) {
        return;
    }
    m_queue_failed = true;
    log(BE_LOG_ERROR,
        "{}: the {} queue failed (overrun or device error); every peer of fabric {:016x} "
        "is lost",
        m_device->context().device(), what, m_address.identity.fabric_id);
    for (const auto &peer : m_peers) {
        if (peer != nullptr && peer->usable()) {
            fail(*peer, BE_ERR_IO, "the completion queue failed");
        }
    }
}

std::uint64_t Fabric::now() noexcept
{
    m_now = static_cast<std::uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
    return m_now;
}

} // namespace be::engine
