// SPDX-License-Identifier: BSD-3-Clause
//
// Set-up.

#include "engine/fabric.hpp"

#include "engine/log.hpp"
#include "engine/member.hpp"
#include "verbs/error.hpp"
#include "verbs/lockable.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>

namespace be::engine {
namespace {

// Staging buffers of a fabric, at most; they come in steps as they are used.
constexpr std::uint32_t staging_buffers = 4096;

core::BytePoolConfig byte_config(const be_fabric_config_t &config)
{
    if (config.byte_budget == 0) {
        return {};
    }
    auto bytes = core::BytePoolConfig::within(config.byte_budget, config.link_rate,
                                              static_cast<std::uint32_t>(
                                                      config.segment_size));
    // Whoever is silent may just be without a processor: giving a connection up is for those who can bring it back.
    bytes.suspect_ns = std::numeric_limits<std::int64_t>::max();
    return bytes;
}

unsigned budget_units(const core::BytePoolConfig &bytes) noexcept
{
    return bytes.run + bytes.bonus + bytes.late;
}

// However many peers there are: memory for receives goes by use. Beyond half as many peers, one that was silent asks
// for credit before it sends.
unsigned max_receives(const be_fabric_config_t &config)
{
    return std::min(config.rx_capacity, config.rx_max);
}

// The address that peers reach this fabric's control port at: the port's own for RoCE; loopback for the soft
// device, which reaches no other machine.
std::string control_address(const Device &device, const verbs::Gid &gid)
{
    if (device.context().soft()) {
        return "127.0.0.1";
    }
    if (gid.is_ipv4_mapped()) {
        return fmt::format("{}.{}.{}.{}", gid.value.raw[12], gid.value.raw[13],
                           gid.value.raw[14], gid.value.raw[15]);
    }
    return gid.to_string();
}

control::Identity new_identity()
{
    if (::sodium_init() < 0) {
        throw std::runtime_error(
                "libsodium cannot be initialised: no source of randomness");
    }
    control::Identity identity;
    ::randombytes_buf(identity.token.data(), identity.token.size());
    while (identity.fabric_id == 0) {
        ::randombytes_buf(&identity.fabric_id, sizeof(identity.fabric_id));
    }
    return identity;
}

DeviceAddress make_device_address(const Device &device, const ibv_port_attr &port,
                                  const verbs::Gid &gid)
{
    if (device.context().soft()) {
        return {Wire::soft, soft_domain()};
    }
    if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
        return {Wire::ethernet, 0};
    }
    return {Wire::infiniband, be64toh(gid.value.global.subnet_prefix)};
}

} // namespace

Fabric::Fabric(std::shared_ptr<Device> opened, std::uint8_t port,
               const be_fabric_config_t &config) :
    m_device(std::move(opened)),
    m_config(config),
    m_hold_at(std::max(config.rx_capacity / 2, least_backlog)),
    m_backlog_limit(m_hold_at +
                    std::uint64_t{16} * std::max(config.rx_capacity, least_backlog)),
    m_port(port),
    m_port_attributes(m_device->context().port(port)),
    m_gid(verbs::choose_gid(m_device->context(), port, config.gid_index)),
    m_address{new_identity(),
              {},
              make_device_address(*m_device, m_port_attributes, m_gid)},
    m_sends(config.tx_completions),
    m_channel(m_device->context()),
    m_receive_cq(m_device->context(), max_receives(config) + notice_capacity(),
                 &m_channel),
    m_send_cq(m_device->context(), m_sends.entries(), &m_channel),
    m_receives(m_device->context(), m_device->pd(), m_device->local_memory(),
               ReceiveLayout::make(config.segment_size, config.rx_headroom,
                                   config.am_alignment, config.am_align_offset),
               config.rx_capacity, max_receives(config), config.rx_max),
    m_notice_srq(m_device->context(), m_device->pd(), notice_capacity()),
    m_staging(m_device->local_memory(),
              {.buffer_size = staging_size(config.segment_size), .cap = staging_buffers}),
    m_flow(flow_config(post_first_receives())),
    m_chunk(byte_credit() ?
                    m_flow.bytes().config().quantum * m_flow.bytes().config().unit :
                    config.chunk),
    m_timer(byte_credit() || config.recovery != 0),
    m_lock(config.mux == BE_MUX_PROCESS),
    m_recoverer(*this),
    m_tcp(*this),
    m_node(control::Node::acquire())
{
    if (config.shared || m_lock.shared()) {
        m_receive_cq.never_yield();
        m_send_cq.never_yield();
    }
    learn_max_inline();
    if (!post_notice_receives(notice_batch + m_flow.bytes().budget())) {
        throw std::runtime_error(
                fmt::format("{}: the receives for notices could not be posted",
                            m_device->context().device()));
    }
    control::ListenOptions options;
    m_address.control = m_node->listen(control_address(*m_device, m_gid), options);
    control::Settings settings;
    settings.peer_timeout = std::chrono::milliseconds(
            std::max<std::int64_t>(10, std::int64_t(config.peer_timeout * 1e3)));
    settings.features = config.recovery != 0 ? control::feature_recovery : 0;
    if (Recoverer::may_fall_back(config)) {
        settings.features |= control::feature_tcp_path;
    }
    m_inbox.serve(*m_node);
    m_node->attach(m_address.identity, &m_inbox, settings);
    try {
        m_device->events().attach(m_inbox, m_node);
    } catch (...) {
        m_node->detach(m_address.identity.fabric_id);
        throw;
    }
    log(BE_LOG_DEBUG, "fabric {:016x} on {}:{} gid {} control {}",
        m_address.identity.fabric_id, m_device->context().device(), unsigned{port},
        m_gid.to_string(), m_address.control.to_string());
}

// What the device gives to a queue pair like those to come.
void Fabric::learn_max_inline()
{
    const verbs::QueuePair qp(m_device->context(), m_device->pd(), m_send_cq,
                              m_receive_cq, &m_receives.srq(),
                              queue_capacity(m_config.max_inline));
    m_max_inline = std::min(qp.max_inline(), m_config.max_inline);
    m_max_short = m_max_inline - std::min<unsigned>(m_max_inline, core::data_header_size);
    if (byte_credit()) { // those that take none
        m_max_short = std::min(m_max_short, core::FlowConfig{}.small_message);
    }
}

verbs::QueuePairCapacity Fabric::queue_capacity(unsigned max_inline) const
{
    return {.max_sends       = m_config.tx_queue,
            .max_receives    = 0,
            .max_send_sge    = BE_MAX_SGE + 1,
            .max_receive_sge = 1,
            .max_inline      = max_inline};
}

Fabric::~Fabric()
{
    m_waker.reset();
    m_device->events().detach(m_inbox);
    m_node->detach(m_address.identity.fabric_id);
    // Queue pairs go before the queues they use; completions nobody waits for any more go with them.
    for (auto &peer : m_peers) {
        if (peer != nullptr && peer->cell) {
            (void)m_device->remote_memory().free(peer->cell);
        }
    }
    m_peers.clear();
}

// Those that the protocol starts with; it hears of later ones from refill_receives(). Where memory is short they would take
// it all, and nothing could be sent: some staging buffers come first.
unsigned Fabric::post_first_receives()
{
    const std::string &device = m_device->context().device();
    if (!m_staging.reserve(least_staging_buffers)) {
        throw std::runtime_error(fmt::format("{}: no buffers to send from: {}", device,
                                             m_staging.last_error()));
    }
    int error = 0;
    (void)m_receives.post(&error);
    const unsigned posted = m_receives.posted();
    const std::string why = error != 0 ? std::system_category().message(error) :
                                         m_receives.no_more_buffers();
    if (posted == 0) {
        throw std::runtime_error(
                fmt::format("{}: no receive could be posted, {} were asked for: {}",
                            device, m_config.rx_capacity, why));
    }
    if (posted < m_config.rx_capacity) {
        const bool soft = m_device->context().soft();
        log(BE_LOG_WARN, "{}: {} receives instead of {}, which costs speed: {}", device,
            posted, m_config.rx_capacity,
            verbs::lockable_memory(soft) != verbs::no_limit ?
                    verbs::registration_hint(ENOMEM, soft) :
                    why);
    }
    return posted;
}

unsigned Fabric::notice_capacity() const noexcept
{
    const auto most = static_cast<unsigned>(
            std::max(1, m_device->context().attributes().max_srq_wr));
    return std::min(most, byte_credit() ? 2 * notice_receives +
                                                  budget_units(byte_config(m_config)) :
                                          notice_receives);
}

core::FlowConfig Fabric::flow_config(unsigned posted) const
{
    core::FlowConfig flow;
    flow.pool.capacity     = posted;
    flow.pool.max_capacity = max_receives(m_config);
    flow.pool.floor        = std::min(2u, posted);
    flow.pool.revoke       = true;
    flow.bytes             = byte_config(m_config);
    flow.pool.max_peers = (notice_capacity() - budget_units(flow.bytes) - notice_batch) /
                          notices_of_peer();
    flow.window.quantum = static_cast<std::uint32_t>(
            byte_credit() ? flow.bytes.quantum * flow.bytes.unit : m_config.chunk);
    flow.window.port = std::max<std::uint64_t>(m_config.window, 2 * flow.window.quantum);
    flow.window.peer = flow.window.port;
    return flow;
}

be_fabric_attr_t Fabric::attributes() const noexcept
{
    return {.max_short = m_max_short,
            .max_bcopy = m_config.segment_size,
            .max_zcopy = m_config.segment_size,
            .max_rma   = std::size_t{1} << 40,
            .max_iov   = BE_MAX_SGE,
            .zero_copy = m_device->zero_copy()};
}

const FabricAddress &Fabric::address() const noexcept
{
    return m_address;
}

} // namespace be::engine
