// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives in buffers of the shared receive queue: active messages.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace be::engine {

// One that has to be looked at. False: it has been dealt with.
bool Fabric::take_message(Peer &peer, const core::DataHeader &header, std::uint64_t time)
{
    core::Verdict verdict = core::Verdict::in_order;
    flow_event([&](core::Actions &actions) {
        verdict = m_flow.arrival(peer.index, header.granted, header.seq, time, actions);
    });
    if (verdict == core::Verdict::in_order) {
        return true;
    }
    ++m_counters.messages_dropped;
    if (verdict != core::Verdict::duplicate) {
        fail(peer, BE_ERR_PEER_FAILED,
             verdict == core::Verdict::gap ?
                     fmt::format("message {} arrived out of order", header.seq) :
                     "it sent more messages than were granted");
    }
    return false;
}

// Whom it is for, if it is in order and covered by credit, and for a member; else it has been dealt with.
[[gnu::always_inline]] inline Member *
Fabric::admit_message(Peer &peer, const core::DataHeader &header, std::size_t length,
                      std::uint64_t time)
{
    if (!m_flow.note_arrival(peer.index, header.granted, header.seq, time) &&
        !take_message(peer, header, time)) [[unlikely]] {
        return nullptr;
    }
    if (m_flow.large(length) && !bytes_arrived(peer, length, time)) [[unlikely]] {
        ++m_counters.messages_dropped;
        return nullptr;
    }
    if (header.kind == core::HeaderKind::credit) [[unlikely]] {
        if (header.flags != 0) {
            on_note(peer, header.flags, header.dst_iface);
        }
        return nullptr;
    }
    Member *member = this->member(header.dst_iface);
    if (member == nullptr) [[unlikely]] {
        ++m_counters.messages_dropped;
        announce(peer, Note::gone, header.dst_iface);
        return nullptr;
    }
    m_counters.bytes_received += length;
    ++m_counters.messages_received;
    return member;
}

// Inline, as what it calls: they are one path, and this is the only call.
[[gnu::always_inline]] inline void
Fabric::on_message(const ibv_wc &wc, Peer *peer, std::uint64_t time)
{
    const memory::Buffer buffer = m_receives.buffer_of(wc.wr_id);
    std::byte *payload          = m_receives.payload(buffer.address);
    m_receives.consumed();

    core::DataHeader header;
    core::DecodeError error = core::DecodeError::truncated;
    if (wc.status == IBV_WC_SUCCESS) {
        error = core::decode({payload - core::data_header_size, wc.byte_len}, header);
    }
    if (error != core::DecodeError::none || peer == nullptr) [[unlikely]] {
        m_receives.release(buffer);
        drop_message(peer, time,
                     wc.status == IBV_WC_SUCCESS ? core::describe(error) :
                                                   verbs::to_string(wc.status));
        return;
    }

    const std::size_t length = wc.byte_len - core::data_header_size;
    Member *member           = admit_message(*peer, header, length, time);
    if (member == nullptr) [[unlikely]] {
        m_receives.release(buffer);
        return;
    }
    const bool keep = !m_receives.exhausted();
    if (m_lock.shared()) {
        file_message(*member, *peer,
                     {.kind   = Mail::Kind::message,
                      .am_id  = header.am_id,
                      .keep   = keep,
                      .length = static_cast<std::uint32_t>(length),
                      .object = payload});
        return;
    }
    if (member->deliver(header.am_id, payload, length, keep) == BE_RX_KEPT) {
        ++m_counters.receives_kept;
        return;
    }
    m_counters.receives_copied += !keep;
    m_receives.release(buffer);
}

void Fabric::on_arrival(const ibv_wc &wc, std::uint64_t time)
{
    Peer *peer = m_queues.by_qpn(wc.qp_num);

    if (wc.status == IBV_WC_WR_FLUSH_ERR) [[unlikely]] {
        on_failed_receive(wc, peer);
        return;
    }
    if (wc.wr_id == 0) {
        if (wc.status == IBV_WC_SUCCESS && peer != nullptr) {
            on_notice(*peer, wc, time);
            freed(*peer);
        } else {
            (void)notice_received();
        }
        return;
    }
    on_message(wc, peer, time);
    if (peer != nullptr) {
        freed(*peer);
    }
}

// A queue pair failed under something that was arriving. The peer sends it again.
void Fabric::on_failed_receive(const ibv_wc &wc, Peer *peer)
{
    if (wc.wr_id == 0) {
        (void)notice_received();
    } else {
        m_receives.consumed();
        m_receives.release(m_receives.buffer_of(wc.wr_id));
        flow_event(
                [&](core::Actions &actions) { m_flow.receive_failed(now(), actions); });
        refill_receives();
    }
    if (peer != nullptr) {
        const Fault fault =
                fault_of(wc,
                         fmt::format("queue pair {:#x} on {}, something arriving",
                                     wc.qp_num, m_device->context().device()),
                         m_record.port_is_up());
        m_recoverer.lose_path(*peer, BE_ERR_PEER_FAILED, fault);
    }
}

// One that came by TCP. Its memory is the channel's: who wants to keep it copies it. The receive that its credit stood
// for has not been used.
void Fabric::on_message(Peer &peer, std::span<std::byte> message, std::uint64_t time)
{
    core::DataHeader header;
    const core::DecodeError error = core::decode(message, header);
    if (error != core::DecodeError::none) {
        ++m_counters.messages_dropped;
        fail(peer, BE_ERR_PEER_FAILED,
             fmt::format("it sent something that is not a message: {}",
                         core::describe(error)));
        return;
    }
    const auto payload = message.subspan(core::data_header_size);
    Member *member     = admit_message(peer, header, payload.size(), time);
    flow_event([&](core::Actions &actions) { m_flow.reposted(1, time, actions); });
    if (member == nullptr) {
        return;
    }
    ++m_counters.receives_copied;
    if (!m_lock.shared()) {
        (void)member->deliver(header.am_id, payload.data(), payload.size(), false);
        return;
    }
    void *copy = std::malloc(std::max<std::size_t>(payload.size(), 1));
    if (copy == nullptr) {
        fail(peer, BE_ERR_NO_MEMORY, "there is no memory for a message");
        return;
    }
    std::copy_n(payload.data(), payload.size(), static_cast<std::byte *>(copy));
    member->post({.kind   = Mail::Kind::copy,
                  .am_id  = header.am_id,
                  .length = static_cast<std::uint32_t>(payload.size()),
                  .object = copy});
    check_backlog(*member, peer);
}

// False: it had no credit for them, and is lost.
bool Fabric::bytes_arrived(Peer &peer, std::size_t length, std::uint64_t time)
{
    bool covered = false;
    flow_event([&](core::Actions &actions) {
        covered = m_flow.bytes_arrived(peer.index, static_cast<std::uint32_t>(length),
                                       time, actions);
    });
    if (!covered) {
        fail(peer, BE_ERR_PEER_FAILED, "it sent more bytes than were granted");
    }
    return covered;
}

void Fabric::drop_message(Peer *peer, std::uint64_t time, const char *why)
{
    flow_event([&](core::Actions &actions) {
        m_flow.arrival_unreadable(peer != nullptr ? peer->index : core::no_peer, time,
                                  actions);
    });
    ++m_counters.messages_dropped;
    if (peer != nullptr) {
        fail(*peer, BE_ERR_PEER_FAILED,
             fmt::format("it sent something that is not a message: {}", why));
    }
}

void Fabric::release_payload(void *payload) noexcept
{
    m_receives.release_payload(payload);
}

} // namespace be::engine
