// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives in buffers of the shared receive queue: active messages.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>

namespace be::engine {

void Fabric::on_arrival(const ibv_wc &wc, std::uint64_t time)
{
    const std::uint32_t place = m_by_qpn.find(wc.qp_num);
    Peer *peer                = place == QpnTable::none ? nullptr : m_queues[place].peer;

    if (wc.wr_id == 0) {
        if (wc.status == IBV_WC_SUCCESS && peer != nullptr) {
            on_notice(*peer, wc, time);
            freed(*peer);
        } else if (peer == nullptr) {
            (void)notice_received();
        }
        return;
    }
    on_message(wc, peer, time);
    if (peer != nullptr) {
        freed(*peer);
    }
}

void Fabric::on_message(const ibv_wc &wc, Peer *peer, std::uint64_t time)
{
    void *buffer       = reinterpret_cast<void *>(wc.wr_id);
    std::byte *payload = m_receives.payload(buffer);
    m_receives.consumed();

    core::DataHeader header;
    core::DecodeError error = core::DecodeError::truncated;
    if (wc.status == IBV_WC_SUCCESS) {
        error = core::decode({payload - core::data_header_size, wc.byte_len}, header);
    }
    if (error != core::DecodeError::none || peer == nullptr) [[unlikely]] {
        drop_message(buffer, peer, time,
                     wc.status == IBV_WC_SUCCESS ? core::describe(error) :
                                                   verbs::to_string(wc.status));
        return;
    }

    core::Verdict verdict = core::Verdict::in_order;
    flow_event([&](core::Actions &actions) {
        verdict = m_flow.arrival(peer->index, header.granted, header.seq, time, actions);
    });
    if (verdict != core::Verdict::in_order) [[unlikely]] {
        m_receives.release(buffer);
        ++m_counters.messages_dropped;
        if (verdict != core::Verdict::duplicate) {
            fail(*peer, BE_ERR_PEER_FAILED,
                 verdict == core::Verdict::gap ?
                         fmt::format("message {} arrived out of order", header.seq) :
                         "it sent more messages than were granted");
        }
        return;
    }
    const std::size_t length = wc.byte_len - core::data_header_size;
    if (m_flow.large(length) && !bytes_arrived(*peer, length, time)) [[unlikely]] {
        m_receives.release(buffer);
        ++m_counters.messages_dropped;
        return;
    }
    if (header.kind == core::HeaderKind::credit) [[unlikely]] {
        m_receives.release(buffer);
        if (header.flags != 0) {
            on_note(*peer, header.flags, header.dst_iface);
        }
        return;
    }

    Member *member = this->member(header.dst_iface);
    if (member == nullptr) [[unlikely]] {
        m_receives.release(buffer);
        ++m_counters.messages_dropped;
        announce(*peer, Note::gone, header.dst_iface);
        return;
    }

    const bool keep = !m_receives.exhausted();
    m_counters.bytes_received += length;
    ++m_counters.messages_received;
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

void Fabric::drop_message(void *buffer, Peer *peer, std::uint64_t time, const char *why)
{
    flow_event([&](core::Actions &actions) {
        m_flow.arrival_unreadable(peer != nullptr ? peer->index : core::no_peer, time,
                                  actions);
    });
    m_receives.release(buffer);
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
