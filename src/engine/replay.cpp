// SPDX-License-Identifier: BSD-3-Clause
//
// What was posted on the path that failed, and has not arrived, is posted on its successor: messages with the number
// that they had, in order; writes likewise; reads always, since nobody has seen their data. What arrived is done.
//
// A write is known to have arrived when the count behind it has: nothing that the peer may have seen is written twice.

#include "engine/fabric.hpp"

#include <cerrno>
#include <new>

namespace be::engine {

bool Fabric::needed_again(const Peer &peer, const Slot &slot) const noexcept
{
    switch (slot.kind) {
    case Slot::Kind::marker:
    case Slot::Kind::cell: // credit is told anew
    case Slot::Kind::notice:
        return false;
    case Slot::Kind::plain:
    case Slot::Kind::notify:
    case Slot::Kind::direct:
    case Slot::Kind::bulk:
    case Slot::Kind::count:
        return !arrived(peer, slot);
    }
    return false;
}

bool Fabric::replay(Peer &peer)
{
    int count        = 0;
    const auto done  = [&](const Slot &slot) { retired(peer, slot, BE_OK); };
    const auto again = [&](const Slot &slot) { return needed_again(peer, slot); };
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        const int posted = queue->replay(
                again,
                [&](const Slot &slot, std::uint64_t number) {
                    if (peer.tcp != nullptr) {
                        return 0; // it goes when its turn comes
                    }
                    return queue == &peer.bulk ? repost_bulk(peer, slot, number) :
                                                 repost_message(peer, slot, number);
                },
                done);
        if (posted < 0) {
            peer.cause = refused("a replay", -posted);
            return false;
        }
        count += posted;
    }
    m_sends.replayed(peer.tcp == nullptr ? static_cast<unsigned>(count) : 0);
    m_counters.replayed += static_cast<unsigned>(count);
    return true;
}

bool Fabric::arrived(const Peer &peer, const Slot &slot) const noexcept
{
    const control::Position &position = peer.theirs->position;
    switch (slot.kind) {
    case Slot::Kind::direct:
        return core::serial_less(std::launder(reinterpret_cast<const DirectPut *>(
                                                      peer.bulk.record(slot)))
                                         ->number,
                                 position.writes);
    case Slot::Kind::bulk:
        if (static_cast<const BulkOperation *>(slot.object)->kind ==
            BulkOperation::Kind::get) {
            return false;
        }
        return core::serial_less(slot.key, position.writes);
    case Slot::Kind::count:
        return !core::serial_less(position.writes,
                                  static_cast<std::uint32_t>(slot.value));
    default:
        break;
    }
    const auto *header = static_cast<const std::byte *>(
            slot.buffer != nullptr ? slot.buffer : peer.messages.record(slot));
    core::DataHeader decoded;
    (void)core::decode({header, core::data_header_size}, decoded);
    return core::serial_less(decoded.seq, position.expected);
}

int Fabric::repost_message(Peer &peer, const Slot &slot, std::uint64_t number)
{
    std::array<ibv_sge, BE_MAX_SGE + 1> sges;
    const auto parts = message_parts(peer.messages, slot, sges);
    ibv_send_wr wr{};
    wr.opcode     = IBV_WR_SEND;
    wr.sg_list    = parts.data();
    wr.num_sge    = static_cast<int>(parts.size());
    wr.send_flags = slot.buffer == nullptr ? unsigned{IBV_SEND_INLINE} : 0;
    return peer.messages.post_again(wr, number);
}

int Fabric::repost_bulk(Peer &peer, const Slot &slot, std::uint64_t number)
{
    std::array<ibv_sge, BE_MAX_SGE> sges;
    ibv_send_wr wr{};
    switch (slot.kind) {
    case Slot::Kind::direct:
        wr = direct_put(peer.bulk.record(slot), slot.length - sizeof(DirectPut), sges[0]);
        break;
    case Slot::Kind::bulk:
        wr = bulk_piece(slot, sges);
        if (static_cast<const BulkOperation *>(slot.object)->kind ==
            BulkOperation::Kind::get) {
            return peer.bulk.post_again(wr, number);
        }
        break;
    default:
        return repost_count(peer, slot, number);
    }
    announce_write(peer, wr);
    return peer.bulk.post_again(wr, number);
}

int Fabric::repost_count(Peer &peer, const Slot &slot, std::uint64_t number)
{
    Word word{.value   = htole64(slot.value),
              .staging = {.address = slot.buffer, .lkey = slot.key, .index = 0}};
    ibv_sge sge{};
    ibv_send_wr wr = write_word(word, peer.remote_cell + sizeof(word.value),
                                peer.remote_cell_rkey, sge);
    return peer.bulk.post_again(wr, number);
}

} // namespace be::engine
