// SPDX-License-Identifier: BSD-3-Clause
//
// Put and get. Everything becomes a BulkOperation that the window admits piece by piece, except short puts: those
// are posted inline at once when nothing is queued before them, bounded by the send queue alone or by byte credit.

#include "engine/fabric.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace be::engine {

be_status_t Fabric::admit_bulk(Link &link, BulkOperation::Kind kind)
{
    const Peer &peer = link.peer;
    if (peer.state != Peer::State::ready || link.gone) [[unlikely]] {
        return unusable(link);
    }
    if (link.fence_parked) [[unlikely]] {
        return refuse(link);
    }
    if (link.bulk[static_cast<unsigned>(kind)].operations.size() >= max_queued_bulk ||
        peer.bulk.room() <= bulk_reserve || !m_sends.room()) [[unlikely]] {
        ++m_counters.queue_full;
        reclaim_sends();
        return refuse(link, !m_sends.room());
    }
    return BE_OK;
}

be_status_t Fabric::put_short(Link &link, const void *data, unsigned length,
                              std::uint64_t remote, std::uint32_t rkey)
{
    if (length > m_max_inline) {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit_bulk(link, BulkOperation::Kind::put);
        status != BE_OK) {
        return status;
    }
    Peer &peer           = link.peer;
    const LinkBulk &puts = link.bulk[0];
    const LinkBulk &gets = link.bulk[1];
    if (!puts.operations.empty() || peer.messages.retired() < link.fence_messages ||
        gets.done < gets.fence) {
        return byte_credit() ? queue_short(link, data, length, remote, rkey) :
                               refuse(link);
    }
    if (byte_credit() && !m_flow.admit_write(peer.index, length)) {
        return queue_short(link, data, length, remote, rkey);
    }
    const bool counted = byte_credit();
    Slot slot{.kind   = Slot::Kind::direct,
              .bytes  = counted ? static_cast<std::uint32_t>(m_flow.charge(length)) : 0,
              .object = &link,
              .length = static_cast<std::uint32_t>(sizeof(DirectPut) + length)};
    std::byte *record = peer.bulk.new_record(slot.length, &slot.key);
    if (record == nullptr) [[unlikely]] {
        if (counted) {
            flow_event([&](core::Actions &actions) {
                m_flow.bulk_reverted(peer.index, slot.bytes, core::BulkKind::write, now(),
                                     actions);
            });
        }
        return refuse(link, true);
    }
    new (record) DirectPut{.remote = remote, .rkey = rkey, .number = peer.writes_posted};
    if (length != 0) {
        std::memcpy(record + sizeof(DirectPut), data, length);
    }
    ibv_sge sge{};
    ibv_send_wr wr = direct_put(record, length, sge);
    if (const int error = post_write(peer, wr, slot, counted || length == 0);
        error != 0) {
        if (error == ENOBUFS) {
            return refuse(link, true);
        }
        io_failure(peer, "a put", error);
        return BE_ERR_IO;
    }
    ++link.bulk[0].issued;
    m_counters.bytes_put += length;
    return BE_OK;
}

// It waits for byte credit, or behind others that do.
be_status_t Fabric::queue_short(Link &link, const void *data, unsigned length,
                                std::uint64_t remote, std::uint32_t rkey)
{
    BulkOperation *operation     = nullptr;
    const memory::Buffer staging = start_staged(BulkOperation::Kind::put, remote, rkey,
                                                &operation);
    if (!staging) {
        return refuse(link, true);
    }
    if (length != 0) {
        std::memcpy(staging.address, data, length);
    }
    operation->sge[0] = {staging.address, length, staging.lkey};
    enqueue(link, operation, length);
    return BE_OK;
}

ssize_t Fabric::put_packed(Link &link, be_pack_func_t pack, void *arg,
                           std::uint64_t remote, std::uint32_t rkey)
{
    if (const be_status_t status = admit_bulk(link, BulkOperation::Kind::put);
        status != BE_OK) {
        return status;
    }
    BulkOperation *operation     = nullptr;
    const memory::Buffer staging = start_staged(BulkOperation::Kind::put, remote, rkey,
                                                &operation);
    if (!staging) {
        return refuse(link, true);
    }
    const std::size_t length = unlocked([&] { return pack(staging.address, arg); });
    if (!link.peer.usable()) [[unlikely]] {
        m_staging.put(staging);
        m_operations.put(operation);
        return unusable(link);
    }
    m_counters.bytes_copied += length;
    operation->sge[0] = {staging.address, length, staging.lkey};
    enqueue(link, operation, length);
    return static_cast<ssize_t>(length);
}

be_status_t Fabric::get_unpacked(Link &link, void *unpack_func, void *unpack_arg,
                                 std::size_t length, std::uint64_t remote,
                                 std::uint32_t rkey, void *completion)
{
    if (length > m_config.segment_size) {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit_bulk(link, BulkOperation::Kind::get);
        status != BE_OK) {
        return status;
    }
    BulkOperation *operation     = nullptr;
    const memory::Buffer staging = start_staged(BulkOperation::Kind::get, remote, rkey,
                                                &operation);
    if (!staging) {
        return refuse(link, true);
    }
    operation->sge[0]        = {staging.address, length, staging.lkey};
    operation->unpack_func   = unpack_func;
    operation->unpack_arg    = unpack_arg;
    operation->unpack_length = length;
    operation->completion    = completion;
    enqueue(link, operation, length);
    return BE_INPROGRESS;
}

memory::Buffer Fabric::start_staged(BulkOperation::Kind kind, std::uint64_t remote,
                                    std::uint32_t rkey, BulkOperation **operation)
{
    const memory::Buffer staging = m_staging.get();
    if (!staging) {
        ++m_counters.staging_empty;
        return staging;
    }
    *operation = m_operations.get();
    if (*operation == nullptr) {
        m_staging.put(staging);
        return {};
    }
    (*operation)->kind      = kind;
    (*operation)->remote    = remote;
    (*operation)->rkey      = rkey;
    (*operation)->sge_count = 1;
    (*operation)->staging   = staging.address;
    return staging;
}

be_status_t Fabric::transfer(Link &link, BulkOperation::Kind kind, const be_sge_t *parts,
                             std::size_t count, std::uint64_t remote, std::uint32_t rkey,
                             void *completion)
{
    if (count > BE_MAX_SGE) {
        return BE_ERR_INVALID;
    }
    if (const be_status_t status = admit_bulk(link, kind); status != BE_OK) {
        return status;
    }
    BulkOperation *operation = m_operations.get();
    if (operation == nullptr) {
        return BE_ERR_NO_MEMORY;
    }
    std::size_t length = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (parts[i].length != 0) {
            operation->sge[operation->sge_count++] = parts[i];
            length += parts[i].length;
        }
    }
    operation->kind       = kind;
    operation->remote     = remote;
    operation->rkey       = rkey;
    operation->completion = completion;
    enqueue(link, operation, length);
    return BE_INPROGRESS;
}

} // namespace be::engine
