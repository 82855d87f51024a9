// SPDX-License-Identifier: BSD-3-Clause

#include "engine/tcp_path.hpp"

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

namespace be::engine {
namespace {

constexpr unsigned senders = 3; // messages, bulk, what the peer reads

// Looks at the channel since the worker woke up, until it takes over from the control thread: the way there and back costs
// two wake-ups, which who sleeps again soon does without.
constexpr unsigned wide_awake = 32;

// Frames in one go. A peer that takes them as fast as they come must not keep this thread from everything else.
constexpr unsigned most_at_once = 64;

SendQueue &queue_of(Peer &peer, bool bulk) noexcept
{
    return bulk ? peer.bulk : peer.messages;
}

// `length` bytes from `offset` on, in one piece: where they are, or copied together in `room`.
std::span<const std::byte> piece_of(std::span<const ibv_sge> parts, std::size_t offset,
                                    std::size_t length, std::vector<std::byte> &room)
{
    std::size_t copied = 0;
    for (const ibv_sge &part : parts) {
        if (offset >= part.length) {
            offset -= part.length;
            continue;
        }
        const auto *from       = reinterpret_cast<const std::byte *>(part.addr) + offset;
        const std::size_t here = std::min<std::size_t>(length - copied,
                                                       part.length - offset);
        if (here == length) {
            return {from, length};
        }
        room.resize(std::max(room.size(), length));
        std::copy_n(from, here, room.data() + copied);
        copied += here;
        offset = 0;
        if (copied == length) {
            break;
        }
    }
    return std::span<const std::byte>(room).first(copied);
}

} // namespace

void TcpPath::open(Peer &peer)
{
    peer.tcp = std::make_unique<TcpPeer>(m_open);
    (void)m_fabric.replay(peer);
    if (peer.tcp == nullptr) {
        return; // a completion that was called has ended it
    }
    for (const bool bulk : {false, true}) {
        TcpPeer::Outgoing &out = peer.tcp->out[bulk];
        out.next               = queue_of(peer, bulk).retired();
        out.replayed           = queue_of(peer, bulk).posted();
    }
}

void TcpPath::pump(Peer &peer) noexcept
{
    try {
        unsigned left = most_at_once;
        while (peer.tcp != nullptr && !peer.tcp->blocked && send_one(peer)) {
            if (--left == 0) {
                // As if the channel were full, and said now that it takes more.
                peer.tcp->blocked = true;
                m_fabric.m_inbox.on_writable(peer.connection);
            }
        }
    } catch (const std::exception &error) {
        m_fabric.fail(peer, BE_ERR_NO_MEMORY, error.what());
    }
}

void TcpPath::look_at_channel() noexcept
{
    // A look is a system call. Where nothing comes for a while it is not worth one each time.
    constexpr unsigned patience = 64;
    constexpr unsigned period   = 16;

    if (m_awake < wide_awake) {
        ++m_awake;
        return;
    }
    if (++m_quiet > patience && m_quiet % period != 0) {
        return;
    }
    m_fabric.m_node->poll();
    if (m_fabric.m_inbox.pending()) {
        m_quiet = 0;
    }
}

void TcpPath::rest() noexcept
{
    if (std::exchange(m_awake, 0) == wide_awake) {
        m_fabric.m_node->rest();
    }
}

// False: there is nothing to be sent, or the channel does not take it now.
bool TcpPath::send_one(Peer &peer)
{
    TcpPeer &tcp = *peer.tcp;
    if (tcp.refusal) {
        if (send(peer, *tcp.refusal)) {
            tcp.refusal.reset();
        }
        return !tcp.blocked;
    }
    if (send_answer(peer)) {
        return true;
    }
    for (unsigned i = 0; i < senders && !tcp.blocked; ++i) {
        const unsigned turn = tcp.turn;
        tcp.turn            = (turn + 1) % senders;
        if (turn == 2 ? send_served(peer) : send_request(peer, turn == 1)) {
            return true;
        }
    }
    return false;
}

// Of what was executed. A read is done when all of it has been sent, and what came behind it not before.
bool TcpPath::send_answer(Peer &peer)
{
    TcpPeer &tcp = *peer.tcp;
    for (const bool bulk : {false, true}) {
        TcpPeer::Incoming &in = tcp.in[bulk];
        if (!in.executed) {
            continue;
        }
        const std::uint32_t number = bulk && !tcp.serving.empty() ?
                                             tcp.serving.front().number - 1 :
                                             *in.executed;
        if (in.told == number ||
            !send(peer, {.kind = TcpFrame::Kind::done, .bulk = bulk, .number = number})) {
            continue;
        }
        in.told = number;
        return true;
    }
    return false;
}

bool TcpPath::send_request(Peer &peer, bool bulk)
{
    TcpPeer::Outgoing &out = peer.tcp->out[bulk];
    const SendQueue &queue = queue_of(peer, bulk);
    while (out.next < out.replayed && !m_fabric.needed_again(peer, queue.at(out.next))) {
        ++out.next;
    }
    if (out.next == queue.posted()) {
        return false;
    }
    const Slot &slot      = queue.at(out.next);
    const bool is_message = slot.kind == Slot::Kind::plain ||
                            slot.kind == Slot::Kind::notify;
    const bool is_read = slot.kind == Slot::Kind::bulk &&
                         static_cast<const BulkOperation *>(slot.object)->kind ==
                                 BulkOperation::Kind::get;
    return is_message ? send_message(peer, slot) :
           is_read    ? send_read(peer, slot) :
                        send_write(peer, slot, bulk);
}

bool TcpPath::send_message(Peer &peer, const Slot &slot)
{
    std::array<ibv_sge, BE_MAX_SGE + 1> sges;
    return send_piece(peer, {.kind = TcpFrame::Kind::message},
                      message_parts(peer.messages, slot, sges));
}

bool TcpPath::send_write(Peer &peer, const Slot &slot, bool bulk)
{
    std::array<ibv_sge, BE_MAX_SGE> sges;
    TcpFrame frame{.kind = TcpFrame::Kind::write, .bulk = bulk};
    ibv_send_wr wr{};
    std::uint32_t number = 0; // of the write
    Word word{.value = htole64(slot.value), .staging = {}};
    switch (slot.kind) {
    case Slot::Kind::direct:
        wr = direct_put(peer.bulk.record(slot), slot.length - sizeof(DirectPut), sges[0]);
        number = std::launder(reinterpret_cast<const DirectPut *>(peer.bulk.record(slot)))
                         ->number;
        break;
    case Slot::Kind::bulk:
        wr     = bulk_piece(slot, sges);
        number = slot.key;
        break;
    case Slot::Kind::cell:
    case Slot::Kind::count:
        wr = write_word(word,
                        peer.remote_cell +
                                (slot.kind == Slot::Kind::count ? sizeof(word.value) : 0),
                        peer.remote_cell_rkey, sges[0]);
        break;
    default: // a notice, or a marker: no bytes
        frame.notice = slot.kind == Slot::Kind::notice;
        frame.value  = static_cast<std::uint32_t>(slot.value);
        break;
    }
    if (slot.kind == Slot::Kind::direct || slot.kind == Slot::Kind::bulk) {
        // It counts with its last byte: no queue pair can fail between the two.
        m_fabric.announce_write(peer, wr);
        frame.notice  = wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
        frame.counted = peer.counts_writes;
        frame.value   = frame.notice ? be32toh(wr.imm_data) : number + 1;
    }
    frame.address = wr.wr.rdma.remote_addr;
    frame.key     = wr.wr.rdma.rkey;
    return send_piece(peer, frame,
                      std::span<const ibv_sge>(sges).first(
                              static_cast<std::size_t>(wr.num_sge)));
}

bool TcpPath::send_read(Peer &peer, const Slot &slot)
{
    const auto &operation  = *static_cast<const BulkOperation *>(slot.object);
    TcpPeer::Outgoing &out = peer.tcp->out[true];
    peer.tcp->reading.push_back({.number = out.next, .length = slot.length, .got = 0});
    if (!send(peer, {.kind    = TcpFrame::Kind::read,
                     .bulk    = true,
                     .number  = static_cast<std::uint32_t>(out.next),
                     .key     = operation.rkey,
                     .length  = slot.length,
                     .address = operation.remote + slot.value})) {
        peer.tcp->reading.pop_back();
        return false;
    }
    ++out.next;
    return true;
}

// Of the next work request; `frame` says all of it but the piece.
bool TcpPath::send_piece(Peer &peer, TcpFrame frame, std::span<const ibv_sge> parts)
{
    TcpPeer &tcp           = *peer.tcp;
    TcpPeer::Outgoing &out = tcp.out[frame.bulk];
    std::size_t whole      = 0;
    for (const ibv_sge &part : parts) {
        whole += part.length;
    }
    const std::size_t length = std::min(whole - out.offset, control::max_data_payload);
    frame.number             = static_cast<std::uint32_t>(out.next);
    frame.length             = static_cast<std::uint32_t>(whole);
    frame.offset             = out.offset;
    frame.last               = out.offset + length == whole;
    frame.notice             = frame.notice && frame.last;
    frame.counted            = frame.counted && frame.last;
    if (!send(peer, frame, piece_of(parts, out.offset, length, tcp.gathered))) {
        return false;
    }
    out.offset += static_cast<std::uint32_t>(length);
    if (frame.last) {
        out.offset = 0;
        ++out.next;
    }
    return true;
}

// Of what the peer reads: memory is looked at when it is sent.
bool TcpPath::send_served(Peer &peer)
{
    TcpPeer &tcp = *peer.tcp;
    if (tcp.serving.empty() || tcp.refused) {
        return false;
    }
    TcpPeer::Serving &read   = tcp.serving.front();
    const std::size_t length = std::min<std::size_t>(read.length - read.sent,
                                                     control::max_data_payload);
    TcpFrame frame{.kind   = TcpFrame::Kind::reply,
                   .last   = read.sent + length == read.length,
                   .bulk   = true,
                   .number = read.number,
                   .length = read.length,
                   .offset = read.sent};
    bool sent      = false;
    const auto why = m_fabric.m_device->keys().read(
            read.key, read.address + read.sent, length,
            [&](std::span<const std::byte> bytes) { sent = send(peer, frame, bytes); });
    if (why != Refusal::none) {
        refuse(peer, frame, why);
        return true;
    }
    if (!sent) {
        return false;
    }
    BE_FAULT_POINT("piece served");
    read.sent += static_cast<std::uint32_t>(length);
    if (frame.last) {
        tcp.serving.pop_front();
    }
    return true;
}

bool TcpPath::send(Peer &peer, const TcpFrame &frame, std::span<const std::byte> payload)
{
    const TcpHeader header = encode(frame);
    const bool taken       = m_fabric.m_node->data(
                  peer.connection,
                  {.kind    = static_cast<std::uint8_t>(frame.kind),
                   .epoch   = peer.recovery.epoch(),
                   .header  = header,
                   .payload = {reinterpret_cast<const std::uint8_t *>(payload.data()),
                               payload.size()}});
    peer.tcp->blocked = !taken;
    BE_FAULT_POINT("frame queued");
    return taken;
}

} // namespace be::engine
