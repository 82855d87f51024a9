// SPDX-License-Identifier: BSD-3-Clause
//
// Set-up, progress and sleeping.

#include "engine/fabric.hpp"

#include "engine/log.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace be::engine {
namespace {

// Staging buffers of a fabric, at most; they come in steps as they are used.
constexpr std::uint32_t staging_buffers = 4096;

// The receive queue may grow to this many times its configured capacity, for the floors of many peers.
constexpr unsigned receive_growth = 2;

// How often the protocol hears of the time: its own default period of activity.
constexpr std::uint64_t tick_interval_ns = core::FlowConfig{}.active_ns;

unsigned max_receives(const be_fabric_config_t &config)
{
    return std::min(config.rx_capacity * receive_growth, config.rx_max);
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
    m_channel(m_device->context()),
    m_receive_cq(m_device->context(), max_receives(config) + notice_receives, &m_channel),
    m_send_cq(m_device->context(), send_cq_entries, &m_channel),
    m_receives(m_device->context(), m_device->pd(), m_device->local_memory(),
               ReceiveLayout::make(config.segment_size, config.rx_headroom,
                                   config.am_alignment, config.am_align_offset),
               config.rx_capacity, max_receives(config), config.rx_max),
    m_notice_srq(m_device->context(), m_device->pd(), notice_receives),
    m_staging(m_device->local_memory(),
              {.buffer_size = core::data_header_size +
                              std::max<std::size_t>(config.segment_size,
                                                    BE_AM_MAX_HEADER),
               .cap = staging_buffers}),
    m_flow(flow_config(post_first_receives())),
    m_lock(config.mux == BE_MUX_PROCESS),
    m_node(control::Node::acquire())
{
    if (config.shared || m_lock.shared()) {
        m_receive_cq.never_yield();
        m_send_cq.never_yield();
    }
    learn_max_inline();
    control::ListenOptions options;
    m_address.control = m_node->listen(control_address(*m_device, m_gid), options);
    control::Settings settings;
    settings.peer_timeout = std::chrono::milliseconds(
            std::max<std::int64_t>(10, std::int64_t(config.peer_timeout * 1e3)));
    m_node->attach(m_address.identity, &m_inbox, settings);
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
    m_node->detach(m_address.identity.fabric_id);
    // Queue pairs go before the queues they use; completions nobody waits for any more go with them.
    for (auto &peer : m_peers) {
        if (peer != nullptr && peer->cell) {
            (void)m_device->remote_memory().free(peer->cell);
        }
    }
    m_peers.clear();
}

// Those that the protocol starts with; it hears of later ones from refill_receives().
unsigned Fabric::post_first_receives()
{
    int error = 0;
    if (m_receives.post(&error) == 0) {
        throw std::runtime_error(
                fmt::format("{}: no receive could be posted, {} were asked for: {}",
                            m_device->context().device(), m_config.rx_capacity,
                            error != 0 ? std::system_category().message(error) :
                                         "no memory for them"));
    }
    return m_receives.posted();
}

core::FlowConfig Fabric::flow_config(unsigned posted) const
{
    core::FlowConfig flow;
    flow.pool.capacity     = posted;
    flow.pool.max_capacity = max_receives(m_config);
    flow.pool.floor        = std::min(2u, posted);
    flow.pool.max_peers    = notice_receives / notices_per_peer;
    flow.window.quantum    = static_cast<std::uint32_t>(m_config.chunk);
    flow.window.port       = std::max<std::uint64_t>(m_config.window, 2 * m_config.chunk);
    flow.window.peer       = flow.window.port;
    return flow;
}

unsigned Fabric::poll()
{
    unsigned events = poll_receives();
    // What has arrived goes first: whoever waits for it waits for this function to return.
    if (m_sends_outstanding != 0 && (events == 0 || ++m_sends_put_off == send_patience) &&
        sends_due()) {
        m_sends_put_off = 0;
        events += poll_sends();
    }
    if (m_inbox.pending()) {
        events += handle_control();
    }
    if (!m_deferred.empty()) {
        events += retry_deferred();
    }
    if (!m_draining.empty() || !m_expected.empty()) {
        events += finish_drains();
    }
    if (m_free_due) {
        free_dead_peers();
    }
    return events;
}

unsigned Fabric::poll_receives()
{
    int count = std::exchange(m_stashed_receives, 0);
    if (count == 0) {
        count = m_receive_cq.poll(m_receive_completions);
    }
    if (count <= 0) {
        if (count < 0) {
            queue_failure("receive");
        }
        if ((++m_idle_polls % idle_polls_to_refill) == 0 || m_flow.tick_needed())
                [[unlikely]] {
            look_around();
        }
        return 0;
    }

    const std::uint64_t time = (++m_batches % batches_per_look) == 0 ? now() : m_now;

    for (int i = 0; i < count; ++i) {
        on_arrival(m_receive_completions[i], time);
    }
    tick(time);
    if (m_receives.batch_due()) {
        refill_receives();
    }
    if (!m_deferred.empty()) {
        retry_deferred();
    }
    return static_cast<unsigned>(count);
}

// There is nothing to do, and perhaps something that was put off.
void Fabric::look_around()
{
    (void)now();
    // A few missing receives wait for company, but nobody waits for them for long.
    if (m_receives.missing() &&
        (m_flow.pool().pressing() || (m_idle_polls % idle_polls_to_rest) == 0)) {
        refill_receives();
    }
    if (m_flow.tick_needed()) {
        tick(m_now);
    }
}

// Could something be in the completion queue of sends? Work that asked for no completion raises one when it fails.
bool Fabric::sends_due() noexcept
{
    return m_signals != 0 || m_stashed_sends != 0 || !m_draining.empty() ||
           (m_idle_polls % idle_polls_per_look) == 0;
}

void Fabric::tick(std::uint64_t time)
{
    if (time - m_ticked >= tick_interval_ns) {
        m_ticked = time;
        flow_event([&](core::Actions &actions) { m_flow.tick(time, actions); });
    }
}

unsigned Fabric::poll_sends()
{
    int count = std::exchange(m_stashed_sends, 0);
    if (count == 0) {
        count = m_send_cq.poll(m_send_completions);
    }
    if (count <= 0) {
        if (count < 0) {
            queue_failure("send");
        }
        return 0;
    }

    for (int i = 0; i < count; ++i) {
        on_sent(m_send_completions[i]);
    }
    pump_bulk();
    return static_cast<unsigned>(count);
}

void Fabric::on_sent(const ibv_wc &wc)
{
    m_signals -= std::min(m_signals, 1u); // one that failed may not have asked
    const auto tag      = static_cast<std::uint32_t>(wc.wr_id >> 32);
    const auto number   = static_cast<std::uint32_t>(wc.wr_id);
    const QueueRef &ref = m_queues[tag & queue_index_mask];
    if (ref.peer == nullptr || ref.generation != tag >> queue_index_bits) {
        return; // of a queue pair that has been destroyed
    }

    Peer &peer       = *ref.peer;
    SendQueue &queue = ref.bulk ? peer.bulk : peer.messages;
    const auto done  = [&](be_status_t status) {
        return [this, &peer, status](const Slot &slot) { retired(peer, slot, status); };
    };
    if (wc.status == IBV_WC_SUCCESS) {
        queue.retire(number, done(BE_OK));
    } else {
        // What came before and asked for no completion went well.
        queue.retire(number - 1, done(BE_OK));
        queue.retire(number, done(BE_ERR_PEER_FAILED));
        m_counters.rnr += wc.status == IBV_WC_RNR_RETRY_EXC_ERR;
        if (peer.usable()) {
            fail(peer, BE_ERR_PEER_FAILED,
                 fmt::format("{} queue pair {:#x} on {}: {} (vendor error {:#x})",
                             ref.bulk ? "bulk" : "message", queue.qp().number(),
                             m_device->context().device(), verbs::to_string(wc.status),
                             wc.vendor_err));
        }
    }
    if (peer.admitted != 0 && peer.usable()) {
        post_admitted(peer);
    }
    if (!peer.flushing.empty()) {
        check_waiters(peer);
    }
    ++m_freed;
    freed(peer);
    if (std::exchange(m_short, false)) [[unlikely]] {
        wake_all();
    }
}

void Fabric::retired(Peer &peer, const Slot &slot, be_status_t status)
{
    --m_sends_outstanding;
    if (slot.buffer != nullptr) {
        (void)m_staging.put(slot.buffer);
    }
    peer.lost |= status != BE_OK && slot.kind != Slot::Kind::marker;
    switch (slot.kind) {
    case Slot::Kind::marker:
        return;
    case Slot::Kind::plain:
        break;
    case Slot::Kind::notify:
        if (Member *owner = member(slot.member); owner != nullptr) {
            --owner->zero_copies;
            owner->complete(slot.object, status);
        }
        break;
    case Slot::Kind::direct:
        ++static_cast<Link *>(slot.object)->bulk_done;
        break;
    case Slot::Kind::bulk:
        piece_done(peer, *static_cast<BulkOperation *>(slot.object), slot.bytes, status);
        break;
    }
}

be_status_t Fabric::arm()
{
    if (m_inbox.pending() || m_stashed_receives != 0 || m_stashed_sends != 0) {
        return BE_ERR_BUSY;
    }
    if (m_receives.missing()) {
        refill_receives();
    }
    (void)m_channel.acknowledge();
    if (m_receive_cq.arm() != 0 || m_send_cq.arm() != 0) {
        queue_failure("completion");
        return BE_ERR_IO;
    }
    // What came in between would raise no event: take it, progress() will handle it.
    m_stashed_receives = std::max(0, m_receive_cq.poll(m_receive_completions));
    m_stashed_sends    = std::max(0, m_send_cq.poll(m_send_completions));
    return m_stashed_receives + m_stashed_sends != 0 ? BE_ERR_BUSY : BE_OK;
}

void Fabric::refill_receives()
{
    int error            = 0;
    const unsigned count = m_receives.post(&error);
    if (error != 0 && !m_receive_error_logged) {
        m_receive_error_logged = true;
        log(BE_LOG_ERROR, "{}: posting receives failed: {} (errno {})",
            m_device->context().device(), std::system_category().message(error), error);
    }
    if (count != 0) {
        flow_event(
                [&](core::Actions &actions) { m_flow.reposted(count, now(), actions); });
    }
}

void Fabric::queue_failure(const char *what)
{
    if (m_queue_failed) {
        return;
    }
    m_queue_failed = true;
    log(BE_LOG_ERROR,
        "{}: the {} queue failed (overrun or device error); every peer of fabric {:016x} "
        "is lost",
        m_device->context().device(), what, m_address.identity.fabric_id);
    for (const auto &peer : m_peers) {
        if (peer != nullptr && peer->usable()) {
            fail(*peer, BE_ERR_IO, "the completion queue failed");
        }
    }
}

be_fabric_attr_t Fabric::attributes() const noexcept
{
    return {.max_short = m_max_inline > core::data_header_size ?
                                 m_max_inline - core::data_header_size :
                                 0,
            .max_bcopy = m_config.segment_size,
            .max_zcopy = m_config.segment_size,
            .max_rma   = std::size_t{1} << 40,
            .max_iov   = BE_MAX_SGE};
}

const FabricAddress &Fabric::address() const noexcept
{
    return m_address;
}

std::uint64_t Fabric::now() noexcept
{
    m_now = static_cast<std::uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
    return m_now;
}

} // namespace be::engine
