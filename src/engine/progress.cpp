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

// Did the path fail, so that what failed may work on another? Else the work request is wrong.
bool of_the_path(ibv_wc_status status) noexcept
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_MW_BIND_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
        return false;
    default:
        return true;
    }
}

} // namespace

unsigned Fabric::poll()
{
    unsigned events = poll_receives();
    // What has arrived goes first: whoever waits for it waits for this function to return.
    if (m_sends.outstanding() != 0 &&
        (events == 0 || ++m_sends_put_off >= send_patience || m_sends.crowded()) &&
        sends_due()) {
        m_sends_put_off = 0;
        events += poll_sends();
    }
    m_tcp.look();
    if (m_inbox.pending()) {
        events += handle_control();
    }
    if (!m_deferred.empty()) {
        events += retry_deferred();
    }
    if (!m_draining.empty() || !m_expected.empty()) {
        events += finish_drains();
    }
    if (!m_recoverer.idle()) {
        m_recoverer.look_after();
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
    m_recoverer.look_for_silence(m_now);
}

// Could something be in the completion queue of sends? Work that asked for no completion raises one when it fails.
bool Fabric::sends_due() noexcept
{
    return m_sends.signals() != 0 || m_stashed_sends != 0 || !m_draining.empty() ||
           (m_idle_polls % idle_polls_per_look) == 0;
}

void Fabric::tick(std::uint64_t time)
{
    if (time - m_ticked >= tick_interval_ns) {
        m_ticked = time;
        flow_event([&](core::Actions &actions) { m_flow.tick(time, actions); });
        m_recoverer.look_for_silence(time);
    }
}

// A batch, or as many as it takes until there is no crowd of them.
unsigned Fabric::poll_sends()
{
    unsigned done = 0;
    int count     = std::exchange(m_stashed_sends, 0);
    do {
        if (count == 0) {
            count = m_send_cq.poll(m_send_completions);
        }
        if (count <= 0) {
            if (count < 0) {
                queue_failure("send");
            }
            break;
        }
        for (int i = 0; i < count; ++i) {
            on_sent(m_send_completions[i]);
        }
        done += static_cast<unsigned>(std::exchange(count, 0));
    } while (m_sends.crowded() && done < most_sends_put_off);
    if (done != 0) {
        pump_bulk();
    }
    return done;
}

void Fabric::on_sent(const ibv_wc &wc)
{
    m_sends.completed();
    const auto tag    = static_cast<std::uint32_t>(wc.wr_id >> 32);
    const auto number = static_cast<std::uint32_t>(wc.wr_id);
    const auto *whose = m_queues.by_tag(tag);
    if (whose == nullptr) {
        return; // of a queue pair that has been destroyed
    }

    Peer &peer       = *whose->peer;
    const bool bulk  = whose->bulk;
    SendQueue &queue = bulk ? peer.bulk : peer.messages;
    const auto done  = [&](be_status_t status) {
        return [this, &peer, status](const Slot &slot) {
            if (slot.forgotten() && status == BE_OK) [[likely]] {
                m_sends.retired();
            } else {
                retired(peer, slot, status);
            }
        };
    };
    if (wc.status == IBV_WC_SUCCESS) {
        queue.retire(number, done(BE_OK));
    } else {
        m_counters.rnr += wc.status == IBV_WC_RNR_RETRY_EXC_ERR;
        if (peer.usable()) {
            const Fault fault = fault_of(wc,
                                         fmt::format("{} queue pair {:#x} on {}",
                                                     bulk ? "bulk" : "message",
                                                     queue.qp().number(),
                                                     m_device->context().device()),
                                         m_record.port_is_up());
            if (of_the_path(wc.status)) {
                m_recoverer.lose_path(peer, BE_ERR_PEER_FAILED, fault);
            } else {
                fail(peer, BE_ERR_PEER_FAILED, fault.describe());
            }
        }
        if (peer.state == Peer::State::recovering) {
            queue.failed(number, done(BE_OK));
        } else {
            // What came before and asked for no completion went well.
            queue.retire(number - 1, done(BE_OK));
            queue.retire(number, done(BE_ERR_PEER_FAILED));
        }
    }
    sends_done(peer);
}

// Slots and perhaps buffers of the peer's have come free.
void Fabric::sends_done(Peer &peer)
{
    if (peer.admitted[0] + peer.admitted[1] != 0 && peer.state == Peer::State::ready) {
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

void Fabric::retired(Peer &peer, Slot slot, be_status_t status)
{
    m_sends.retired();
    if (slot.kind != Slot::Kind::bulk && slot.buffer != nullptr) {
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
    case Slot::Kind::count:
    case Slot::Kind::cell:
    case Slot::Kind::notice:
        break;
    case Slot::Kind::notify:
        if (Member *owner = member(slot.member); owner != nullptr) {
            --owner->zero_copies;
            owner->complete(slot.object, status);
        }
        break;
    case Slot::Kind::direct:
        operation_over(*static_cast<Link *>(slot.object), 0);
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
