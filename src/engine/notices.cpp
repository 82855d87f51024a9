// SPDX-License-Identifier: BSD-3-Clause
//
// Notices: zero-length writes with an immediate on the bulk queue pair, and what arrives there.
//
// The receives for them have no memory. There is one for each kind that a peer may have under way, those for what
// uses up byte credit (as many as the budget has units), and a batch more: so they may be posted again in batches.
// An answer carries its total in the immediate and does not depend on the order of the two queue pairs.

#include "engine/fabric.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace be::engine {

// The latest value of a kind counts.
void Fabric::notify(Peer &peer, core::Notice::Kind kind, std::uint32_t value)
{
    peer.notice_values[kind] = value;
    if (!send_notice(peer, kind)) {
        peer.notices |= 1u << kind;
        defer(peer);
    }
}

// False: not now.
bool Fabric::send_notice(Peer &peer, core::Notice::Kind kind)
{
    if (peer.state != Peer::State::ready || peer.bulk.room() == 0 ||
        !m_sends.room_for_protocol()) {
        return false;
    }
    const bool grant          = kind == core::Notice::grant;
    const std::uint32_t value = grant ? m_flow.granted(peer.index) :
                                        peer.notice_values[kind];
    ibv_send_wr wr{};
    wr.opcode              = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data            = htobe32(core::encode(core::Notice{kind, value}));
    wr.wr.rdma.remote_addr = peer.remote_cell;
    wr.wr.rdma.rkey        = peer.remote_cell_rkey;
    const Slot slot{.kind = Slot::Kind::notice, .value = be32toh(wr.imm_data)};
    if (const int error = post(peer, peer.bulk, wr, slot, true); error != 0) {
        io_failure(peer, "a notice", error);
    }
    if (grant) {
        m_flow.told(peer.index);
    }
    return true;
}

void Fabric::send_notices(Peer &peer)
{
    for (unsigned kind = core::Notice::request; peer.notices >> kind != 0; ++kind) {
        const unsigned bit = 1u << kind;
        if ((peer.notices & bit) == 0) {
            continue;
        }
        if (!send_notice(peer, static_cast<core::Notice::Kind>(kind))) {
            defer(peer);
            return;
        }
        peer.notices &= ~bit;
    }
}

void Fabric::on_notice(Peer &peer, const ibv_wc &wc, std::uint64_t time)
{
    if (!notice_received()) {
        fail(peer, BE_ERR_IO, "the receives for notices could not be posted again");
        return;
    }
    on_notice(peer, be32toh(wc.imm_data), wc.byte_len, time);
}

// `bytes`: of the write that it came with.
void Fabric::on_notice(Peer &peer, std::uint32_t immediate, std::uint32_t bytes,
                       std::uint64_t time)
{
    const auto notice = core::decode_notice(immediate);
    bool good         = notice.has_value();
    if (good) {
        flow_event([&](core::Actions &actions) {
            good = take_notice(peer, *notice, bytes, time, actions);
        });
    }
    if (!good) {
        fail(peer, BE_ERR_PEER_FAILED,
             fmt::format("it sent the notice {:#010x}, which {}", immediate,
                         notice ? "it must not" : "is unknown"));
    }
}

// False: nonsense, or not agreed on.
bool Fabric::take_notice(Peer &peer, const core::Notice &notice, std::uint32_t bytes,
                         std::uint64_t time, core::Actions &actions)
{
    const std::uint32_t index = peer.index;
    const std::uint32_t value = notice.value;
    switch (notice.kind) {
    case core::Notice::request:
        m_flow.request(index, value, time, actions);
        return true;
    case core::Notice::grant: {
        const core::CreditCell cell = core::load_cell(
                static_cast<const std::uint64_t *>(peer.cell.address));
        (void)m_flow.answered(index,
                              core::Serial<core::notice_value_bits>::widen(cell.messages,
                                                                           value),
                              time, actions);
        return true;
    }
    case core::Notice::revoke:
        m_flow.revoked(index, value, time, actions);
        return true;
    case core::Notice::give_back:
        return m_flow.given_back(index, value, time, actions);
    default:
        break;
    }
    if (!byte_credit()) {
        return false;
    }
    switch (notice.kind) {
    case core::Notice::bulk:
        ++peer.writes_arrived;
        m_flow.byte_request(index, value, time, actions);
        return m_flow.bytes_arrived(index, bytes, time, actions);
    case core::Notice::byte_request:
        m_flow.byte_request(index, value, time, actions);
        return true;
    case core::Notice::byte_revoke:
        m_flow.bytes_revoked(index, value, time, actions);
        return true;
    case core::Notice::byte_return:
        return m_flow.bytes_given_back(index, value, time, actions);
    case core::Notice::wake:
        m_flow.wake(index, value, time, actions);
        return true;
    case core::Notice::woken:
        (void)m_flow.woken(index, value, time, actions);
        return true;
    default:
        return false;
    }
}

// One was used up.
bool Fabric::notice_received()
{
    return ++m_notices_missing < notice_batch || post_notice_receives(0);
}

// So many more than there were, and those that are missing.
bool Fabric::post_notice_receives(unsigned count)
{
    const unsigned gone = std::min(m_notice_surplus, count + m_notices_missing);
    count += std::exchange(m_notices_missing, 0) - gone;
    m_notice_surplus -= gone;
    std::array<ibv_recv_wr, notice_batch> chain{};
    for (unsigned i = 0; i + 1 < chain.size(); ++i) {
        chain[i].next = &chain[i + 1];
    }
    while (count != 0) {
        const unsigned length    = std::min(count, notice_batch);
        ibv_recv_wr *const after = std::exchange(chain[length - 1].next, nullptr);
        ibv_recv_wr *bad         = nullptr;
        if (m_notice_srq.post(chain.data(), &bad) != 0) {
            return false;
        }
        chain[length - 1].next = after;
        count -= length;
    }
    return true;
}

} // namespace be::engine
