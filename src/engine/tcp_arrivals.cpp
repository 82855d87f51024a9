// SPDX-License-Identifier: BSD-3-Clause
//
// What comes over TCP. The peer has proved who it is, not that it means well: whatever it says is checked, and remote keys
// are judged as a device would judge them.

#include "control/fault_point.hpp"
#include "core/serial.hpp"
#include "engine/fabric.hpp"
#include "engine/remote_keys.hpp"
#include "engine/tcp_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace be::engine {
namespace {

// Reads of a peer that may wait: more than any send queue has room for.
constexpr std::size_t most_reads = 65536;

} // namespace

// What belongs to an epoch that is over has not arrived: the position of this one does not count it.
void TcpPath::on_data(const ControlEvent &event)
{
    Peer *peer = m_fabric.by_connection(event.connection);
    if (peer == nullptr || peer->tcp == nullptr || peer->tcp->refused ||
        event.epoch != peer->recovery.epoch()) {
        return;
    }
    if (!event.data.error.empty()) {
        nonsense(*peer, event.data.error);
        return;
    }
    if (std::find(m_heard.begin(), m_heard.end(), peer) == m_heard.end()) {
        m_heard.push_back(peer);
    }
    on_frame(*peer, event.data.frame, event.data.payload);
}

void TcpPath::on_writable(control::ConnectionId connection)
{
    Peer *peer = m_fabric.by_connection(connection);
    if (peer != nullptr && peer->tcp != nullptr) {
        peer->tcp->blocked = false;
        m_heard.push_back(peer);
    }
}

void TcpPath::answer()
{
    if (std::exchange(m_done, false)) {
        m_fabric.pump_bulk();
    }
    m_answering.swap(m_heard);
    for (Peer *peer : m_answering) {
        pump(*peer);
    }
    m_answering.clear();
}

void TcpPath::on_frame(Peer &peer, const TcpFrame &frame, std::span<std::byte> payload)
{
    BE_FAULT_POINT("frame taken");
    switch (frame.kind) {
    case TcpFrame::Kind::message:
        on_message(peer, frame, payload);
        break;
    case TcpFrame::Kind::write:
        on_write(peer, frame, payload);
        break;
    case TcpFrame::Kind::read:
        on_read(peer, frame);
        break;
    case TcpFrame::Kind::reply:
        on_reply(peer, frame, payload);
        break;
    case TcpFrame::Kind::done:
        on_done(peer, frame);
        break;
    case TcpFrame::Kind::refused:
        on_refused(peer, frame);
        break;
    }
}

void TcpPath::on_message(Peer &peer, const TcpFrame &frame, std::span<std::byte> payload)
{
    std::vector<std::byte> &pieces = peer.tcp->message;
    if (frame.length > core::data_header_size + m_fabric.m_config.segment_size) {
        nonsense(peer, "with a message that is longer than a segment");
        return;
    }
    if (frame.offset != pieces.size()) {
        nonsense(peer, "with a piece of a message that does not follow the last one");
        return;
    }
    std::vector<std::byte> whole;
    if (payload.size() != frame.length) {
        pieces.insert(pieces.end(), payload.begin(), payload.end());
        if (!frame.last) {
            return;
        }
        whole.swap(pieces);
        payload = whole;
    }
    m_fabric.on_message(peer, payload, m_fabric.now());
    executed(peer, frame);
}

void TcpPath::on_write(Peer &peer, const TcpFrame &frame,
                       std::span<const std::byte> payload)
{
    if (const Refusal why = m_fabric.m_device->keys().write(frame.key, frame.address,
                                                            frame.length, frame.offset,
                                                            payload);
        why != Refusal::none) {
        refuse(peer, frame, why);
        return;
    }
    if (frame.counted) {
        if (m_fabric.byte_credit()) {
            nonsense(peer, "with a count of writes, which byte credit counts by itself");
            return;
        }
        auto *words = static_cast<std::uint64_t *>(peer.cell.address);
        __atomic_store_n(&words[1], htole64(frame.value), __ATOMIC_RELEASE);
    }
    if (frame.notice) {
        m_fabric.on_notice(peer, frame.value, frame.length, m_fabric.now());
    }
    if (frame.last) {
        executed(peer, frame);
    }
}

void TcpPath::on_read(Peer &peer, const TcpFrame &frame)
{
    TcpPeer &tcp = *peer.tcp;
    if (!frame.bulk || tcp.serving.size() >= most_reads) {
        nonsense(peer, "with a read that no queue pair would take");
        return;
    }
    if (const Refusal why = m_fabric.m_device->keys().readable(frame.key, frame.address,
                                                               frame.length);
        why != Refusal::none) {
        refuse(peer, frame, why);
        return;
    }
    tcp.serving.push_back({.number  = frame.number,
                           .key     = frame.key,
                           .address = frame.address,
                           .length  = frame.length,
                           .sent    = 0});
    executed(peer, frame);
}

void TcpPath::on_reply(Peer &peer, const TcpFrame &frame,
                       std::span<const std::byte> payload)
{
    TcpPeer &tcp = *peer.tcp;
    if (tcp.reading.empty() || frame.length != tcp.reading.front().length ||
        frame.number != static_cast<std::uint32_t>(tcp.reading.front().number) ||
        frame.offset != tcp.reading.front().got) {
        nonsense(peer, "with an answer to what was not asked");
        return;
    }
    TcpPeer::Reading &read = tcp.reading.front();
    std::array<ibv_sge, BE_MAX_SGE> sges;
    const ibv_send_wr wr = bulk_piece(peer.bulk.at(read.number), sges);
    std::size_t skip     = read.got;
    for (const ibv_sge &part :
         std::span<const ibv_sge>(sges).first(static_cast<std::size_t>(wr.num_sge))) {
        if (skip >= part.length) {
            skip -= part.length;
            continue;
        }
        const auto here = payload.first(std::min(payload.size(), part.length - skip));
        std::copy(here.begin(), here.end(),
                  reinterpret_cast<std::byte *>(part.addr) + skip);
        payload = payload.subspan(here.size());
        read.got += static_cast<std::uint32_t>(here.size());
        skip = 0;
        if (payload.empty()) {
            break;
        }
    }
    if (frame.last) {
        tcp.reading.pop_front();
    }
}

void TcpPath::on_done(Peer &peer, const TcpFrame &frame)
{
    const TcpPeer &tcp        = *peer.tcp;
    SendQueue &queue          = frame.bulk ? peer.bulk : peer.messages;
    const std::uint64_t first = queue.retired();
    const std::int32_t count  = core::serial_diff(frame.number + 1,
                                                  static_cast<std::uint32_t>(first));
    if (count <= 0) {
        return;
    }
    const std::uint64_t end = first + static_cast<std::uint32_t>(count);
    if (end > tcp.out[frame.bulk].next ||
        (frame.bulk && !tcp.reading.empty() && end > tcp.reading.front().number)) {
        nonsense(peer, "that says that something is done which cannot be");
        return;
    }
    queue.retire(frame.number,
                 [&](const Slot &slot) { m_fabric.retired(peer, slot, BE_OK); });
    m_done = true;
    BE_FAULT_POINT("done over TCP");
    m_fabric.sends_done(peer);
}

void TcpPath::on_refused(Peer &peer, const TcpFrame &frame)
{
    m_fabric.fail(peer, BE_ERR_PEER_FAILED,
                  fmt::format("it refused remote access over TCP: {}",
                              to_string(static_cast<Refusal>(frame.value))));
}

// The peer is told with what else there is to say.
void TcpPath::executed(Peer &peer, const TcpFrame &frame) noexcept
{
    if (peer.tcp != nullptr) { // what it led to has not ended the path
        peer.tcp->in[frame.bulk].executed = frame.number;
        BE_FAULT_POINT("executed over TCP");
    }
}

void TcpPath::refuse(Peer &peer, const TcpFrame &frame, Refusal why) noexcept
{
    peer.tcp->refused = true;
    peer.tcp->refusal = {.kind   = TcpFrame::Kind::refused,
                         .bulk   = frame.bulk,
                         .number = frame.number,
                         .value  = static_cast<std::uint32_t>(why)};
}

void TcpPath::nonsense(Peer &peer, std::string_view what)
{
    m_fabric.fail(peer, BE_ERR_PEER_FAILED,
                  fmt::format("it sent a frame over TCP {}", what));
}

} // namespace be::engine
