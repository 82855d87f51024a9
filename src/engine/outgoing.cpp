// SPDX-License-Identifier: BSD-3-Clause

#include "engine/outgoing.hpp"

#include "engine/bulk_operation.hpp"
#include "engine/link.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace be::engine {

MessageHeader message_to(const Link &link, std::uint8_t am_id, void *header) noexcept
{
    return {.am_id = am_id, .iface = link.iface, .header = header};
}

std::span<ibv_sge> message_parts(const SendQueue &queue, const Slot &slot,
                                 std::span<ibv_sge, BE_MAX_SGE + 1> sges) noexcept
{
    if (slot.buffer == nullptr) {
        sges[0] = {reinterpret_cast<std::uint64_t>(queue.record(slot)), slot.length, 0};
        return sges.first(1);
    }
    sges[0] = {reinterpret_cast<std::uint64_t>(slot.buffer), slot.length, slot.key};
    std::copy_n(kept_parts(slot.buffer), slot.parts, sges.begin() + 1);
    return sges.first(slot.parts + std::size_t{1});
}

ibv_send_wr direct_put(std::byte *record, std::size_t length, ibv_sge &sge) noexcept
{
    const auto &put = *std::launder(reinterpret_cast<const DirectPut *>(record));
    sge             = {reinterpret_cast<std::uint64_t>(record + sizeof(DirectPut)),
                       static_cast<std::uint32_t>(length), 0};
    ibv_send_wr wr{};
    wr.sg_list             = &sge;
    wr.num_sge             = length != 0;
    wr.send_flags          = length != 0 ? unsigned{IBV_SEND_INLINE} : 0;
    wr.wr.rdma.remote_addr = put.remote;
    wr.wr.rdma.rkey        = put.rkey;
    return wr;
}

ibv_send_wr bulk_piece(const Slot &slot, std::span<ibv_sge, BE_MAX_SGE> sges) noexcept
{
    const auto &operation = *static_cast<const BulkOperation *>(slot.object);
    std::uint64_t skip    = slot.value;
    std::size_t left      = slot.length;
    int count             = 0;
    for (unsigned i = 0; left != 0; ++i) {
        const be_sge_t &part = operation.sge[i];
        if (skip >= part.length) {
            skip -= part.length;
            continue;
        }
        const std::size_t length = std::min<std::size_t>(left, part.length - skip);
        sges[count++]            = {reinterpret_cast<std::uint64_t>(part.address) + skip,
                                    static_cast<std::uint32_t>(length), part.lkey};
        skip                     = 0;
        left -= length;
    }
    ibv_send_wr wr{};
    wr.sg_list             = sges.data();
    wr.num_sge             = count;
    wr.opcode              = IBV_WR_RDMA_READ;
    wr.wr.rdma.remote_addr = operation.remote + slot.value;
    wr.wr.rdma.rkey        = operation.rkey;
    return wr;
}

ibv_send_wr
write_word(Word &word, std::uint64_t remote, std::uint32_t rkey, ibv_sge &sge) noexcept
{
    sge = {reinterpret_cast<std::uint64_t>(&word.value), sizeof(word.value), 0};
    ibv_send_wr wr{};
    wr.sg_list             = &sge;
    wr.num_sge             = 1;
    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.send_flags          = IBV_SEND_INLINE;
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey        = rkey;
    if (word.staging) {
        std::memcpy(word.staging.address, &word.value, sizeof(word.value));
        sge.addr      = reinterpret_cast<std::uint64_t>(word.staging.address);
        sge.lkey      = word.staging.lkey;
        wr.send_flags = 0;
    }
    return wr;
}

} // namespace be::engine
