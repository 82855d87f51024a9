// SPDX-License-Identifier: BSD-3-Clause
//
// The path to a peer, its queue pairs, fails while the peer lives: both ends let go of the old ones, tell each other what
// has arrived, and go on with fresh ones. core::Recovery decides what is done when; here it is done.
//
// Until then the peer is `recovering`: endpoints find that there is no resource, as if credit had run out, and what has
// been promised is kept in the send queues.

#include "control/fault_point.hpp"
#include "core/serial.hpp"
#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace be::engine {
namespace {

control::Position to_control(const core::Position &position)
{
    return {.expected          = position.expected,
            .writes            = position.writes,
            .messages          = position.messages,
            .units             = position.units,
            .messages_returned = position.messages_returned,
            .units_returned    = position.units_returned};
}

core::Position to_core(const control::Position &position)
{
    return {.expected          = position.expected,
            .writes            = position.writes,
            .messages          = position.messages,
            .units             = position.units,
            .messages_returned = position.messages_returned,
            .units_returned    = position.units_returned};
}

// What is said once and answered is void with the path; totals are not.
constexpr unsigned lasting_notices = 1u << core::Notice::give_back |
                                     1u << core::Notice::byte_return;

// Of a recovery that others wait for. The answer needs microseconds where nothing else is wrong.
constexpr std::uint64_t answer_limit = 1'000'000'000; // ns

} // namespace

core::RecoveryConfig Recoverer::config() const noexcept
{
    core::RecoveryConfig config;
    config.timeout_ns = static_cast<std::uint64_t>(
            std::llround(std::max(m_fabric.m_config.peer_timeout, 0.01) * 1e9));
    config.tcp              = may_fall_back(m_fabric.m_config);
    config.device_stable_ns = 2'000'000; // on top of fallback_time
    config.backoff          = {.first_ns  = 500'000,
                               .max_ns    = 250'000'000,
                               .stable_ns = retries_ns(m_fabric.m_config)};
    return config;
}

// Messages, writes and completions that have gone through to and from it, by whatever path. Of the present one if it is
// another number than Peer::made_with.
std::uint64_t Recoverer::carried(const Peer &peer) const noexcept
{
    return peer.sends_retired() + m_fabric.m_flow.arrived(peer.index) +
           writes_arrived(peer);
}

// Before its machine hears of a failure.
void Recoverer::tell_use(Peer &peer)
{
    if (peer.state == Peer::State::ready && carried(peer) != peer.made_with) {
        peer.recovery.worked();
    }
}

void Recoverer::lose_path(Peer &peer, be_status_t status, const Fault &fault)
{
    if (!recoverable(peer)) {
        m_fabric.fail(peer, status, fault.describe());
        return;
    }
    blame(peer, fault);
    tell_use(peer);
    run(peer, peer.recovery.failed(m_fabric.now()));
}

// What follows from it says less.
void Recoverer::blame(Peer &peer, const Fault &fault)
{
    if (peer.state == Peer::State::ready) {
        peer.cause = fault.describe();
        peer.fault = fault;
    }
}

// Also a queue pair that was given up says that it has, and by now another may have its number.
bool Recoverer::is_news(const Peer &peer, const verbs::AsyncEvent &event) noexcept
{
    if (event.type != IBV_EVENT_QP_LAST_WQE_REACHED) {
        return true;
    }
    const auto &qp = peer.messages.qp().number() == event.qpn ? peer.messages.qp() :
                                                                peer.bulk.qp();
    return peer.state == Peer::State::ready && qp.state() == IBV_QPS_ERR;
}

bool Recoverer::on_device(const verbs::AsyncEvent &event)
{
    using Kind                = verbs::AsyncEvent::Kind;
    const std::string &device = m_fabric.m_device->context().device();
    switch (event.kind) {
    case Kind::queue_pair_failed:
        if (Peer *peer = m_fabric.m_queues.by_qpn(event.qpn);
            peer != nullptr && is_news(*peer, event)) {
            lose_path(*peer, BE_ERR_IO,
                      {Fault::Side::local, event.qpn,
                       fmt::format("queue pair {:#x} on {} failed: {} (no completion)",
                                   event.qpn, device, event.text)});
            return true;
        }
        return false;
    case Kind::port_down:
    case Kind::port_up:
        // What is under way is tried again by the device, and may yet arrive.
        if (event.port == m_fabric.m_port) {
            m_fabric.m_counters.port_errors += event.kind == Kind::port_down;
            m_fabric.m_record.port_is_up(event.kind == Kind::port_up);
            port_changed(event.kind == Kind::port_up);
            log(BE_LOG_INFO, "{}:{}: {}", device, unsigned{event.port}, event.text);
        }
        return false;
    case Kind::device_failed:
        log(BE_LOG_ERROR, "{}: {}", device, event.text);
        m_device_failed = true;
        port_changed(false);
        for (const auto &peer : m_fabric.m_peers) {
            if (peer != nullptr && peer->state == Peer::State::ready) {
                lose_path(*peer, BE_ERR_IO,
                          fmt::format("the device {} failed: {}", device, event.text));
            }
        }
        return !m_fabric.m_peers.empty();
    case Kind::other:
        return false;
    }
    return false;
}

void Recoverer::on_recover(const ControlEvent &event)
{
    Peer *peer = m_fabric.by_connection(event.connection);
    if (peer == nullptr || !recoverable(*peer)) {
        return;
    }
    if (event.recover->path == control::path_tcp && !peer->tcp_agreed) {
        m_fabric.fail(*peer, BE_ERR_PEER_FAILED,
                      "it wants to go on over TCP, which both ends have not agreed on");
        return;
    }
    if (peer->state == Peer::State::ready && peer->tcp == nullptr &&
        core::serial_diff(event.recover->epoch, peer->recovery.epoch()) > 0) {
        blame(*peer, {Fault::Side::remote, peer->messages.qp().number(),
                      fmt::format("the peer gave up queue pairs {:#x} and {:#x} on {}",
                                  peer->messages.qp().number(), peer->bulk.qp().number(),
                                  m_fabric.m_device->context().device())});
    }
    const auto steps = peer->recovery.recover(event.recover->epoch,
                                              static_cast<core::RecoveryPath>(
                                                      event.recover->path),
                                              m_fabric.now());
    if (peer->recovery.epoch() == event.recover->epoch) {
        peer->theirs = *event.recover;
    }
    run(*peer, steps);
}

void Recoverer::on_recovered(const ControlEvent &event)
{
    Peer *peer = m_fabric.by_connection(event.connection);
    if (peer != nullptr && recoverable(*peer)) {
        run(*peer, peer->recovery.recovered(event.epoch, m_fabric.now()));
    }
}

void Recoverer::run(Peer &peer, core::RecoverySteps steps)
{
    using core::RecoveryStep;
    if (steps.has(RecoveryStep::drain)) {
        abandon_path(peer);
    }
    if (steps.has(RecoveryStep::send_recover)) {
        tell_position(peer);
    }
    if (steps.has(RecoveryStep::rewire)) {
        rewire(peer);
    }
    if (steps.has(RecoveryStep::send_recovered)) {
        tell_rewired(peer);
    }
    if (steps.has(RecoveryStep::use_tcp)) {
        resume_over_tcp(peer);
    } else if (steps.has(RecoveryStep::resume)) {
        resume(peer);
    }
    if (steps.has(RecoveryStep::redial)) {
        redial(peer);
    }
    if (steps.has(RecoveryStep::die)) {
        m_fabric.fail(peer, BE_ERR_PEER_FAILED,
                      peer.recovery.reason() == core::RecoveryReason::timed_out ?
                              fmt::format("{}; it did not come back within {:g} s",
                                          peer.cause, m_fabric.m_config.peer_timeout) :
                              peer.cause);
    }
}

// Nothing more goes out or comes in by the queue pairs there are.
void Recoverer::abandon_path(Peer &peer)
{
    if (peer.tcp == nullptr) {
        judge(peer);
    }
    if (peer.state == Peer::State::ready) {
        peer.lost_at = m_fabric.m_now;
        if (peer.tcp != nullptr && !peer.recovery.channel_is_lost()) {
            log(BE_LOG_INFO, "{}: tries RDMA again (epoch {})", peer.name,
                peer.recovery.epoch());
        } else {
            ++m_fabric.m_counters.paths_lost;
            m_fabric.m_record.lost(peer);
            log_loss(peer);
        }
        forget(peer); // the last one to begin
        ail(peer);
    }
    [[maybe_unused]] const bool leaves_tcp = std::exchange(peer.tcp, nullptr) != nullptr;

    peer.state = Peer::State::recovering;
    peer.own.reset();
    m_fabric.await_drain(peer);
    BE_FAULT_POINT(leaves_tcp ? "TCP left" : "path lost");
}

// One warning a second: a link that goes down takes the paths of many peers with it.
void Recoverer::log_loss(const Peer &peer)
{
    const bool warn        = m_warned_at == 0 || peer.lost_at - m_warned_at >= quiet_ns;
    const std::string text = fmt::format("{}: {}; recovering (epoch {})", peer.name,
                                         peer.cause, peer.recovery.epoch());
    if (!warn) {
        ++m_unwarned;
        log(BE_LOG_INFO, "{}", text);
        return;
    }
    m_warned_at = peer.lost_at;
    if (const unsigned others = std::exchange(m_unwarned, 0); others != 0) {
        log(BE_LOG_WARN, "{}; {} other losses since the last warning", text, others);
    } else {
        log(BE_LOG_WARN, "{}", text);
    }
}

void Recoverer::path_drained(Peer &peer)
{
    BE_FAULT_POINT("path drained");
    m_fabric.close_queues(peer);
    run(peer, peer.recovery.drained(m_fabric.now()));
}

// Of the peer's, so far.
std::uint32_t Recoverer::writes_arrived(const Peer &peer) const noexcept
{
    if (m_fabric.byte_credit()) {
        return peer.writes_arrived;
    }
    const auto *words = static_cast<const std::uint64_t *>(peer.cell.address);
    return static_cast<std::uint32_t>(
            le64toh(__atomic_load_n(&words[1], __ATOMIC_ACQUIRE)));
}

void Recoverer::tell_position(Peer &peer)
{
    if (!peer.own) {
        try {
            const core::RecoveryPath path = peer.recovery.path();
            if (path == core::RecoveryPath::rdma) {
                m_fabric.open_queues(peer);
            }
            peer.begun_at = m_fabric.now();
            BE_FAULT_POINT("fresh queue pairs made");
            core::Position position = m_fabric.m_flow.position(peer.index);
            position.writes         = writes_arrived(peer);
            peer.own                = {.epoch    = peer.recovery.epoch(),
                                       .path     = static_cast<std::uint8_t>(path),
                                       .position = to_control(position),
                                       .connect  = m_fabric.connect_info(peer)};
        } catch (const std::exception &error) {
            peer.cause = error.what();
            run(peer, peer.recovery.failed(m_fabric.now()));
            return;
        }
    }
    if (peer.self) {
        peer.theirs = peer.own;
        run(peer, peer.recovery.recover(peer.own->epoch, core::RecoveryPath::rdma,
                                        m_fabric.now()));
        return;
    }
    m_fabric.m_node->recover(peer.connection, *peer.own);
}

void Recoverer::tell_rewired(Peer &peer)
{
    if (peer.self) {
        run(peer, peer.recovery.recovered(peer.recovery.epoch(), m_fabric.now()));
    } else {
        m_fabric.m_node->recovered(peer.connection, peer.recovery.epoch());
    }
}

void Recoverer::rewire(Peer &peer)
{
    if (!peer.own || !peer.theirs || peer.theirs->epoch != peer.recovery.epoch()) {
        return; // what was to be told could not be: there is another epoch by now
    }
    try {
        m_fabric.wire(peer, peer.theirs->connect);
        BE_FAULT_POINT("fresh queue pairs connected");
    } catch (const std::exception &error) {
        peer.cause = error.what();
        run(peer, peer.recovery.failed(m_fabric.now()));
        return;
    }
    if (take_position(peer)) {
        BE_FAULT_POINT("position taken");
        run(peer, peer.recovery.rewired(m_fabric.now()));
    }
}

// Before the peer may send anything new. False: it is lost.
bool Recoverer::take_position(Peer &peer)
{
    peer.notices &= lasting_notices;
    peer.cell_deferred    = false;
    peer.returns_deferred = 0;
    bool sane             = false;
    m_fabric.flow_event([&](core::Actions &actions) {
        sane = m_fabric.m_flow.reposition(peer.index, to_core(peer.theirs->position),
                                          m_fabric.now(), actions);
    });
    if (!sane) {
        m_fabric.fail(peer, BE_ERR_PEER_FAILED, "it gave back more credit than it had");
    }
    return sane;
}

void Recoverer::resume(Peer &peer)
{
    peer.messages.start();
    peer.bulk.start();
    if (!m_fabric.replay(peer)) {
        run(peer, peer.recovery.failed(m_fabric.now()));
        return;
    }
    BE_FAULT_POINT("sent again");
    if (peer.state != Peer::State::recovering) {
        return; // a completion that was called has ended it
    }
    if (peer.no_rdma) { // it was given up, and works
        (void)has_rdma(peer);
    }
    if (std::exchange(peer.fallen_back, false)) {
        ++m_fabric.m_counters.returns;
        BE_FAULT_POINT("back to RDMA");
    }
    resumed(peer);
}

// Data flows again.
void Recoverer::resumed(Peer &peer)
{
    peer.state     = Peer::State::ready;
    peer.made_at   = m_fabric.now();
    peer.made_with = carried(peer);
    ++m_fabric.m_counters.recoveries;
    m_fabric.m_counters.recovery_time += m_fabric.now() - peer.lost_at;
    m_fabric.m_record.recovered(m_fabric.m_now - peer.lost_at);
    const std::string text =
            fmt::format("{}: recovered after {:.3f} ms (epoch {})", peer.name,
                        static_cast<double>(m_fabric.m_now - peer.lost_at) / 1e6,
                        peer.recovery.epoch());
    if (peer.tcp != nullptr) {
        log(BE_LOG_INFO, "{}, over TCP", text);
    } else {
        log(BE_LOG_INFO, "{}, queue pairs {:#x} and {:#x}", text,
            peer.messages.qp().number(), peer.bulk.qp().number());
    }
    peer.cell_deferred = true; // what was granted meanwhile
    m_fabric.defer(peer);
    m_fabric.post_admitted(peer);
    m_fabric.pump_bulk(); // the replay may have found so much done that no completion is to come
    m_fabric.check_waiters(peer);
    m_fabric.freed(peer);
    m_fabric.m_tcp.pump(peer);
    BE_FAULT_POINT("recovered");
}

void Recoverer::ail(Peer &peer)
{
    if (std::find(m_ailing.begin(), m_ailing.end(), &peer) == m_ailing.end()) {
        m_ailing.push_back(&peer);
    }
}

// It has fresh queue pairs, and the other end should have answered or will soon. Who does not answer is not waited for
// by others.
bool Recoverer::under_way(const Peer &peer, std::uint64_t time) const noexcept
{
    using core::RecoveryState;
    const RecoveryState state = peer.recovery.state();
    return (state == RecoveryState::recovering || state == RecoveryState::rewired) &&
           time < peer.begun_at + answer_limit;
}

// How many more may begin.
std::size_t Recoverer::turns(std::uint64_t time) const noexcept
{
    const auto count = static_cast<std::size_t>(
            std::count_if(m_ailing.begin(), m_ailing.end(),
                          [&](const Peer *peer) { return under_way(*peer, time); }));
    const std::size_t most = m_fabric.m_config.max_recoveries;
    return most - std::min(count, most);
}

void Recoverer::look_after()
{
    const std::uint64_t time = m_fabric.now();
    std::size_t left         = turns(time);
    for (std::size_t i = 0; i < m_ailing.size();) {
        Peer &peer = *m_ailing[i];
        if (peer.recovery.due_ns() <= time ||
            (left != 0 && peer.recovery.waits_for_permission())) {
            const bool waited = !under_way(peer, time);
            run(peer, peer.recovery.tick(time, left != 0));
            left -= left != 0 && waited && i < m_ailing.size() && m_ailing[i] == &peer &&
                    under_way(peer, time);
        }
        if (peer.redial_at <= time && recoverable(peer)) {
            redial(peer);
        }
        look_at_rdma(peer, time);
        if (i >= m_ailing.size() || m_ailing[i] != &peer) {
            continue; // it is lost
        }
        if (peer.state == Peer::State::ready && peer.tcp == nullptr &&
            !peer.recovery.channel_is_lost()) {
            m_ailing.erase(m_ailing.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
}

std::uint64_t Recoverer::due_ns() const noexcept
{
    std::uint64_t due  = ~std::uint64_t{0};
    bool waits         = false;
    std::uint64_t turn = ~std::uint64_t{
            0}; // when the first of those under way is not waited for any more
    for (const Peer *peer : m_ailing) {
        due   = std::min({due, peer->recovery.due_ns(), peer->redial_at, peer->try_at});
        waits = waits || peer->recovery.waits_for_permission();
        if (under_way(*peer, m_fabric.m_now)) {
            turn = std::min(turn, peer->begun_at + answer_limit);
        }
    }
    if (!waits) {
        return due;
    }
    return turns(m_fabric.m_now) != 0 ? 0 : std::min(due, turn);
}

} // namespace be::engine
