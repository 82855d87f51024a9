// SPDX-License-Identifier: BSD-3-Clause
//
// Active messages out. Each takes one credit, one slot of the message queue and, unless it fits inline, one staging
// buffer; what is missing makes the call say BE_ERR_NO_RESOURCE before anything has been packed.

#include "engine/c_guard.hpp"
#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace be::engine {
namespace {

// As std::memcpy(), without a call for a word.
inline void copy_few(std::byte *to, const void *from, unsigned length) noexcept
{
    if (length == sizeof(std::uint64_t)) {
        std::memcpy(to, from, sizeof(std::uint64_t));
    } else if (length != 0) {
        std::memcpy(to, from, length);
    }
}

} // namespace

// Inline: a message that nothing stands in the way of, which is nearly every one, pays for a few comparisons.
[[gnu::always_inline]] inline be_status_t Fabric::admit(Link &link)
{
    const Peer &peer = link.peer;
    if (peer.state == Peer::State::ready && !link.barred && !link.message_fenced() &&
        link.parked == 0 && peer.messages.room() != 0 && m_sends.room() &&
        m_flow.admit_message(peer.index)) [[likely]] {
        return BE_OK;
    }
    return admit_closely(link, 0);
}

// One that may be parked, see park_unless_covered().
be_status_t Fabric::admit_packed(Link &link)
{
    return link.parked == 0 ? admit(link) : admit_closely(link, max_parked - 1);
}

// `parked`: of its link at most.
be_status_t Fabric::admit_closely(Link &link, unsigned parked)
{
    Peer &peer = link.peer;
    if (peer.state != Peer::State::ready || link.barred) [[unlikely]] {
        return unusable(link);
    }
    if (link.message_fenced() || link.parked > parked) [[unlikely]] {
        return refuse(link);
    }
    if (peer.messages.room() == 0 || !m_sends.room()) [[unlikely]] {
        ++m_counters.queue_full;
        reclaim_sends();
        return refuse(link, !m_sends.room());
    }
    read_cell(peer);
    if (m_flow.admit_message(peer.index)) {
        return BE_OK;
    }
    flow_event([&](core::Actions &actions) {
        m_flow.blocked(peer.index, std::max(1u, peer.queued), now(), actions);
    });
    return refuse(link);
}

// A credit has been admitted but there is no buffer to send from.
be_status_t Fabric::no_staging(Link &link)
{
    m_flow.revert_message(link.peer.index);
    ++m_counters.staging_empty;
    return refuse(link, true);
}

// Not now: whoever asked is woken when it may be worth while to try again.
be_status_t Fabric::refuse(Link &link, bool short_of)
{
    if (m_lock.shared()) {
        link.short_of   = short_of;
        link.refused_at = short_of ? m_freed : link.peer.freed;
        m_short         = m_short || short_of;
        if (!link.waiting) {
            link.waiting = true;
            link.member.wait_for(link);
        }
    }
    return BE_ERR_NO_RESOURCE;
}

// Sends that asked for no completion hold their slots until a later one completes. When slots of the completion
// queue run short, a marker on every such queue brings them back.
void Fabric::reclaim_sends()
{
    if (!m_sends.reclaim_due()) {
        return;
    }
    for (const auto &peer : m_peers) {
        if (!m_sends.room_for_marker()) {
            m_sends.reclaimed(false);
            return;
        }
        if (peer != nullptr && peer->state == Peer::State::ready) {
            mark_tails(*peer);
        }
    }
    m_sends.reclaimed(true);
}

// What the device refuses is lost with the path, and posted again on the next one, if there is to be one.
int Fabric::post(Peer &peer, SendQueue &queue, ibv_send_wr &wr, const Slot &slot,
                 bool signal) noexcept
{
    if (peer.state == Peer::State::recovering || peer.tcp != nullptr) [[unlikely]] {
        const int error = queue.keep(slot);
        if (error == 0) {
            m_sends.posted(false);
        }
        if (peer.state != Peer::State::recovering) {
            m_tcp.pump(peer);
        }
        return error;
    }
    int error = queue.post(wr, slot, signal);
    if (error == 0) [[likely]] {
        m_sends.posted((wr.send_flags & IBV_SEND_SIGNALED) != 0);
    } else if (Recoverer::recoverable(peer) && queue.keep(slot) == 0) {
        m_sends.posted(false);
        m_recoverer.lose_path(peer, BE_ERR_IO,
                              {Fault::Side::local, queue.qp().number(),
                               refused("a work request", error)});
        error = 0;
    }
    return error;
}

// Where a message or a put of so many bytes is put together, to go inline and to be kept; null: no memory.
std::byte *Fabric::new_record(Link &link, std::size_t length, Slot &slot)
{
    slot.length       = static_cast<std::uint32_t>(core::data_header_size + length);
    std::byte *record = link.peer.messages.new_record(slot.length, &slot.key);
    m_counters.bytes_sent += record != nullptr ? length : 0;
    return record;
}

be_status_t
Fabric::post_inline(Link &link, std::uint8_t am_id, std::byte *record, const Slot &slot)
{
    ibv_sge sge{reinterpret_cast<std::uint64_t>(record), slot.length, 0};
    return post_message(link.peer, message_to(link, am_id, record), slot, &sge, 1,
                        IBV_SEND_INLINE, false);
}

be_status_t Fabric::post_message(Peer &peer, const MessageHeader &message,
                                 const Slot &slot, ibv_sge *sges, int sge_count,
                                 unsigned flags, bool signal)
{
    core::DataHeader header;
    header.kind      = message.kind;
    header.am_id     = message.am_id;
    header.flags     = message.flags;
    header.dst_iface = message.iface;
    m_flow.stamp(peer.index, header);
    core::encode(header,
                 std::span<std::byte, core::data_header_size>(static_cast<std::byte *>(
                                                                      message.header),
                                                              core::data_header_size));

    Slot kept = slot;
    if (slot.buffer != nullptr) {
        kept.length = sges[0].length;
        kept.key    = sges[0].lkey;
        kept.parts  = static_cast<std::uint8_t>(sge_count - 1);
        std::copy_n(sges + 1, kept.parts, kept_parts(slot.buffer));
    }
    ibv_send_wr wr{};
    wr.sg_list    = sges;
    wr.num_sge    = sge_count;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = flags;
    if (const int error = post(peer, peer.messages, wr, kept, signal); error != 0)
            [[unlikely]] {
        if (slot.buffer != nullptr) {
            (void)m_staging.put(slot.buffer);
        }
        io_failure(peer, "a message", error);
        return BE_ERR_IO;
    }
    ++m_counters.messages_sent;
    return BE_OK;
}

// The one that most messages come by: the upper layer's header right behind ours. What the others do in steps, each
// with a description of the message in memory, is here done at once.
[[gnu::always_inline]] inline be_status_t
Fabric::send_short(Link &link, std::uint8_t am_id, std::uint64_t header,
                   const void *payload, unsigned length)
{
    if (sizeof(header) + length > m_max_short) [[unlikely]] {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit(link); status != BE_OK) [[unlikely]] {
        return status;
    }
    Peer &peer      = link.peer;
    const auto size = static_cast<std::uint32_t>(core::data_header_size + sizeof(header) +
                                                 length);
    std::uint32_t place     = 0;
    std::byte *const record = peer.messages.new_record(size, &place);
    if (record == nullptr) [[unlikely]] {
        return no_staging(link);
    }
    core::DataHeader ours;
    ours.am_id     = am_id;
    ours.dst_iface = link.iface;
    m_flow.stamp(peer.index, ours);
    core::encode(ours,
                 std::span<std::byte, core::data_header_size>(record,
                                                              core::data_header_size));
    std::memcpy(record + core::data_header_size, &header, sizeof(header));
    copy_few(record + core::data_header_size + sizeof(header), payload, length);

    ibv_sge sge{reinterpret_cast<std::uint64_t>(record), size, 0};
    ibv_send_wr wr{};
    wr.sg_list    = &sge;
    wr.num_sge    = 1;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_INLINE;
    const Slot slot{.length = size, .key = place};
    if (peer.tcp == nullptr && peer.messages.post(wr, slot, false) == 0) [[likely]] {
        m_sends.posted((wr.send_flags & IBV_SEND_SIGNALED) != 0);
    } else if (const int error = post(peer, peer.messages, wr, slot, false); error != 0) {
        io_failure(peer, "a message", error);
        return BE_ERR_IO;
    }
    m_counters.bytes_sent += sizeof(header) + length;
    ++m_counters.messages_sent;
    return BE_OK;
}

be_status_t Fabric::send_short(Link &link, std::uint8_t am_id, const be_sge_t *parts,
                               std::size_t count)
{
    std::size_t length = 0;
    for (std::size_t i = 0; i < count; ++i) {
        length += parts[i].length;
    }
    if (length > m_max_short) [[unlikely]] {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit(link); status != BE_OK) {
        return status;
    }
    Slot slot;
    std::byte *record = new_record(link, length, slot);
    if (record == nullptr) [[unlikely]] {
        return no_staging(link);
    }
    std::byte *end = record + core::data_header_size;
    for (std::size_t i = 0; i < count; ++i) {
        if (parts[i].length != 0) {
            end = std::copy_n(static_cast<const std::byte *>(parts[i].address),
                              parts[i].length, end);
        }
    }
    return post_inline(link, am_id, record, slot);
}

ssize_t
Fabric::send_packed(Link &link, std::uint8_t am_id, be_pack_func_t pack, void *arg)
{
    if (const be_status_t status = admit_packed(link); status != BE_OK) {
        return status;
    }
    const memory::Buffer staging = m_staging.get();
    if (!staging) [[unlikely]] {
        return no_staging(link);
    }
    link.peer.messages.reserve();
    const std::size_t length = unlocked([&] {
        return pack(static_cast<std::byte *>(staging.address) + core::data_header_size,
                    arg);
    });
    link.peer.messages.unreserve();
    if (!link.peer.usable()) [[unlikely]] {
        m_staging.put(staging);
        return unusable(link);
    }
    m_counters.bytes_copied += length;
    if (const std::size_t size = core::data_header_size + length;
        size <= m_max_inline && !m_flow.large(length) && link.parked == 0) {
        Slot slot;
        if (std::byte *record = new_record(link, length, slot); record != nullptr) {
            std::memcpy(record, staging.address, size);
            m_staging.put(staging);
            const be_status_t status = post_inline(link, am_id, record, slot);
            return status == BE_OK ? static_cast<ssize_t>(length) :
                                     static_cast<ssize_t>(status);
        }
    }
    m_counters.bytes_sent += length;

    ibv_sge sge{reinterpret_cast<std::uint64_t>(staging.address),
                static_cast<std::uint32_t>(core::data_header_size + length),
                staging.lkey};
    if (m_flow.large(length) || link.parked != 0) {
        Parked message;
        message.am_id       = am_id;
        message.sge_count   = 1;
        message.length      = static_cast<std::uint32_t>(length);
        message.slot.buffer = staging.address;
        message.sges[0]     = sge;
        return send_or_park(link, message, static_cast<ssize_t>(length));
    }
    const be_status_t status = post_message(link.peer,
                                            message_to(link, am_id, staging.address),
                                            {.buffer = staging.address}, &sge, 1, 0,
                                            true);
    return status == BE_OK ? static_cast<ssize_t>(length) : static_cast<ssize_t>(status);
}

be_status_t Fabric::send_zero_copy(Link &link, std::uint8_t am_id, const void *header,
                                   unsigned header_length, const be_sge_t *parts,
                                   std::size_t count, void *completion)
{
    std::array<ibv_sge, BE_MAX_SGE + 1> sges;
    std::size_t length = header_length;
    int used           = 1;
    if (count > BE_MAX_SGE || header_length > BE_AM_MAX_HEADER) {
        return BE_ERR_INVALID;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (parts[i].length != 0) {
            sges[used++] = {reinterpret_cast<std::uint64_t>(parts[i].address),
                            static_cast<std::uint32_t>(parts[i].length), parts[i].lkey};
            length += parts[i].length;
        }
    }
    if (length > m_config.segment_size) {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit_packed(link); status != BE_OK) {
        return status;
    }
    const memory::Buffer staging = m_staging.get();
    if (!staging) [[unlikely]] {
        return no_staging(link);
    }
    if (header_length != 0) {
        std::memcpy(static_cast<std::byte *>(staging.address) + core::data_header_size,
                    header, header_length);
    }
    sges[0] = {reinterpret_cast<std::uint64_t>(staging.address),
               static_cast<std::uint32_t>(core::data_header_size + header_length),
               staging.lkey};
    m_counters.bytes_sent += length;
    m_counters.bytes_copied += header_length;

    if (m_flow.large(length) || link.parked != 0) {
        Parked message;
        message.am_id     = am_id;
        message.sge_count = used;
        message.length    = static_cast<std::uint32_t>(length);
        message.slot      = {.kind   = Slot::Kind::notify,
                             .member = link.member.id(),
                             .object = completion,
                             .buffer = staging.address};
        std::copy_n(sges.begin(), used, message.sges.begin());
        const auto status = static_cast<be_status_t>(
                send_or_park(link, message, BE_INPROGRESS));
        link.member.zero_copies += status == BE_INPROGRESS;
        return status;
    }

    const be_status_t status = post_message(link.peer,
                                            message_to(link, am_id, staging.address),
                                            {.kind   = Slot::Kind::notify,
                                             .member = link.member.id(),
                                             .object = completion,
                                             .buffer = staging.address},
                                            sges.data(), used, 0, true);
    link.member.zero_copies += status == BE_OK;
    return status == BE_OK ? BE_INPROGRESS : status;
}

// One that takes byte credit too, or that others wait before; it has its message credit. Returns `sent`, or an error.
ssize_t Fabric::send_or_park(Link &link, Parked &message, ssize_t sent)
{
    message.slot.bytes = m_flow.large(message.length) ?
                                 static_cast<std::uint32_t>(
                                         m_flow.charge(message.length)) :
                                 0;
    if (park_unless_covered(link, message)) [[unlikely]] {
        return link.peer.usable() ? sent : static_cast<ssize_t>(BE_ERR_NO_MEMORY);
    }
    const be_status_t status =
            post_message(link.peer, message_to(link, message.am_id, message.slot.buffer),
                         message.slot, message.sges.data(), message.sge_count, 0, true);
    return status == BE_OK ? sent : static_cast<ssize_t>(status);
}

bool Fabric::can_send(Link &link)
{
    const Peer &peer = link.peer;
    if (!peer.usable() || link.gone) {
        // It takes the call, and says so: once the user has been told, which is when all that was on its way is done.
        return peer.state != Peer::State::draining || link.gone;
    }
    if (peer.state == Peer::State::ready && !link.barred && has_credit(link) &&
        peer.messages.room() != 0 && peer.bulk.room() > bulk_reserve &&
        !link.message_fenced() && link.parked < max_parked &&
        link.bulk[0].operations.size() < max_queued_bulk &&
        link.bulk[1].operations.size() < max_queued_bulk) {
        return true;
    }
    (void)refuse(link);
    return false;
}

// Asks for some, if there is none.
bool Fabric::has_credit(Link &link)
{
    Peer &peer = link.peer;
    if (m_flow.available(peer.index) == 0) {
        read_cell(peer);
        if (m_flow.available(peer.index) == 0) {
            flow_event([&](core::Actions &actions) {
                m_flow.blocked(peer.index, std::max(1u, peer.queued), now(), actions);
            });
            return false;
        }
    }
    return true;
}

void Fabric::demand(Link &link, int change)
{
    Peer &peer = link.peer;
    link.queued += static_cast<unsigned>(change);
    peer.queued += static_cast<unsigned>(change);
    // Those that are still there use what was asked for; the last one to go tells what is left of it.
    if (change < 0 && peer.queued + peer.parked.size() == 0 && peer.usable()) {
        flow_event([&](core::Actions &actions) {
            m_flow.cancelled(peer.index, 0, now(), actions);
        });
    }
}

void Fabric::io_failure(Peer &peer, const char *what, int error)
{
    fail(peer, BE_ERR_IO, refused(what, error));
}

std::string Fabric::refused(const char *what, int error) const
{
    return fmt::format("{} could not be posted on {}: {} (errno {})", what,
                       m_device->context().device(),
                       std::system_category().message(error), error);
}

} // namespace be::engine

be_status_t be_am_short(be_peer_t *peer, uint8_t am_id, uint64_t header,
                        const void *payload, unsigned length)
{
    using namespace be::engine;
    return Locked(link_of(peer))
            ->send_short(link_of(peer), am_id, header, payload, length);
}
