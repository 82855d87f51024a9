// SPDX-License-Identifier: BSD-3-Clause
//
// The queue pairs of a peer: made, described to the other end, connected, destroyed.

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace be::engine {
namespace {

constexpr std::uint32_t psn_mask = 0xffffff;
constexpr std::size_t cell_words = 2; // credit, and how many writes have arrived

} // namespace

void Fabric::make_queues(Peer &peer)
{
    std::string why;
    peer.cell = m_device->remote_memory().allocate(cell_words * sizeof(std::uint64_t),
                                                   sizeof(std::uint64_t), &why);
    if (!peer.cell) {
        throw std::runtime_error(fmt::format("no memory for a credit cell: {}", why));
    }
    std::fill_n(static_cast<std::uint64_t *>(peer.cell.address), cell_words, 0);
    peer.messages = SendQueue(m_config.tx_queue);
    peer.bulk     = SendQueue(m_config.tx_queue);
    open_queues(peer);
    if (!post_notice_receives(notices_of_peer())) {
        throw std::runtime_error("the receives for notices could not be posted");
    }
    peer.notice_receives = notices_of_peer();
    BE_FAULT_POINT("queue pairs made");
}

// Fresh queue pairs, not connected.
void Fabric::open_queues(Peer &peer)
{
    const auto open = [&](SendQueue &queue, bool bulk, verbs::SharedReceiveQueue &srq,
                          unsigned access) {
        verbs::QueuePair qp(m_device->context(), m_device->pd(), m_send_cq, m_receive_cq,
                            &srq, queue_capacity(m_max_inline));
        qp.to_init(m_port, access);
        const std::uint32_t tag = m_queues.add(peer, bulk, qp.number());
        queue.attach(std::move(qp), tag);
    };
    open(peer.messages, false, m_receives.srq(),
         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    open(peer.bulk, true, m_notice_srq,
         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    for (std::uint32_t &psn : peer.psn) {
        psn = ::randombytes_random() & psn_mask;
    }
}

// The queue pairs go; what was posted on them and is not retired stays.
void Fabric::close_queues(Peer &peer) noexcept
{
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        if (queue->exists()) {
            m_queues.remove(queue->tag(), queue->qp().number());
            queue->destroy_qp();
        }
    }
}

void Fabric::destroy_queues(Peer &peer) noexcept
{
    close_queues(peer);
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        queue->retire_all(
                [&](const Slot &slot) { retired(peer, slot, BE_ERR_PEER_FAILED); });
    }
    m_notice_surplus += std::exchange(peer.notice_receives, 0);
    if (peer.cell) {
        (void)m_device->remote_memory().free(peer.cell);
        peer.cell = {};
    }
}

control::ConnectInfo Fabric::connect_info(const Peer &peer) const
{
    control::ConnectInfo info;
    info.fabric_id = m_address.identity.fabric_id;
    info.session   = peer.session;
    info.epoch     = peer.recovery.epoch();
    info.qps.resize(2);
    const SendQueue *queues[] = {&peer.messages, &peer.bulk};
    for (unsigned i = 0; i < 2; ++i) {
        if (queues[i]->exists()) {
            info.qps[i] = {queues[i]->qp().number(), peer.psn[i]};
        }
    }
    std::copy(std::begin(m_gid.value.raw), std::end(m_gid.value.raw), info.gid.begin());
    info.lid           = m_port_attributes.lid;
    info.link_layer    = m_port_attributes.link_layer;
    info.mtu           = m_config.path_mtu != 0 ?
                                 m_config.path_mtu :
                                 static_cast<std::uint8_t>(m_port_attributes.active_mtu);
    info.max_rd_atomic = static_cast<std::uint8_t>(
            std::min(m_device->context().attributes().max_qp_rd_atom, 255));
    info.segment_size     = static_cast<std::uint32_t>(m_config.segment_size);
    info.initial_messages = m_flow.granted(peer.index);
    info.data_version     = core::wire_version;
    info.byte_unit        = byte_credit() ? m_flow.bytes().config().unit : 0;
    info.cell_address     = reinterpret_cast<std::uint64_t>(peer.cell.address);
    info.cell_rkey        = peer.cell.rkey;
    info.control          = m_address.control;
    info.initial_units    = m_flow.cell(peer.index).byte_units;
    return info;
}

// For the first time; the credit in it counts as told.
control::ConnectInfo Fabric::first_info(Peer &peer)
{
    (void)m_flow.take_cell(peer.index);
    return connect_info(peer);
}

void Fabric::wire(Peer &peer, const control::ConnectInfo &info)
{
    if (info.qps.size() < 2) {
        throw std::runtime_error(
                fmt::format("it offers {} queue pairs, two are needed", info.qps.size()));
    }
    if (info.segment_size != m_config.segment_size) {
        throw std::runtime_error(fmt::format(
                "its segments are {} bytes, ours {}: set UCX_BE_SEG_SIZE alike",
                info.segment_size, m_config.segment_size));
    }
    if (info.data_version != core::wire_version) {
        throw std::runtime_error(
                fmt::format("it speaks version {} of the data protocol, this is version "
                            "{}: use the same release on both ends",
                            std::max<unsigned>(info.data_version, 1),
                            core::wire_version));
    }
    if (const unsigned unit = byte_credit() ? m_flow.bytes().config().unit : 0;
        info.byte_unit != unit) {
        throw std::runtime_error(fmt::format(
                "it {} byte credit, this end {}: set UCX_BE_BYTE_CREDIT alike",
                info.byte_unit != 0 ? "uses" : "does not use",
                unit != 0 ? "does" : "does not"));
    }
    const std::uint8_t own_mtu = m_config.path_mtu != 0 ?
                                         m_config.path_mtu :
                                         static_cast<std::uint8_t>(
                                                 m_port_attributes.active_mtu);
    verbs::RemoteEnd remote;
    remote.lid = info.lid;
    std::copy(info.gid.begin(), info.gid.end(), std::begin(remote.gid.raw));

    const verbs::LocalEnd local{
            .port               = m_port,
            .gid_index          = m_gid.index,
            .global             = m_port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
            .traffic_class      = m_config.traffic_class,
            .service_level      = m_config.service_level,
            .mtu                = static_cast<ibv_mtu>(std::min(own_mtu, info.mtu)),
            .max_dest_rd_atomic = static_cast<std::uint8_t>(
                    std::min(m_device->context().attributes().max_qp_rd_atom, 255))};
    verbs::SendLimits limits{
            .timeout       = m_config.timeout,
            .retry_count   = m_config.retry_count,
            .max_rd_atomic = static_cast<std::uint8_t>(std::max(
                    1, std::min<int>(m_device->context().attributes().max_qp_init_rd_atom,
                                     info.max_rd_atomic)))};
    SendQueue *queues[] = {&peer.messages, &peer.bulk};
    for (unsigned i = 0; i < 2; ++i) {
        remote.qpn = info.qps[i].qpn;
        remote.psn = info.qps[i].psn;
        limits.psn = peer.psn[i];
        queues[i]->qp().to_rtr(remote, local);
        queues[i]->qp().to_rts(limits);
    }
    if (!peer.wired) {
        peer.recoverable = m_config.recovery != 0 &&
                           (peer.self ||
                            (info.features & control::feature_recovery) != 0);
        peer.tcp_agreed    = (info.features & control::feature_tcp_path) != 0;
        peer.counts_writes = peer.recoverable && !byte_credit();
        BE_FAULT_POINT("queue pairs connected");
    }
    peer.wired            = true;
    peer.remote_cell      = info.cell_address;
    peer.remote_cell_rkey = info.cell_rkey;
    flow_event([&](core::Actions &actions) {
        m_flow.credit_update(peer.index,
                             core::CreditCell{.messages   = info.initial_messages,
                                              .byte_units = info.initial_units &
                                                            core::cell_byte_mask},
                             now(), actions);
    });
}

} // namespace be::engine
