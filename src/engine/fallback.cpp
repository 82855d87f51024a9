// SPDX-License-Identifier: BSD-3-Clause
//
// When there is no RDMA to a peer, and when it is worth another try. There is none while our port is down or the device has
// failed, and when one path after the other fails before anything went through: then it is tried again after a pause,
// which doubles. What is said here is said for this end; data goes over TCP if either end says so.

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"
#include "engine/log.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace be::engine {
namespace {

constexpr unsigned most_failures      = 3; // in a row
constexpr std::uint64_t longest_pause = 64; // times the first one
constexpr std::uint64_t never         = ~std::uint64_t{0};

std::uint64_t stable_ns(const be_fabric_config_t &config) noexcept
{
    return static_cast<std::uint64_t>(
            std::llround(std::clamp(config.fallback_time, 0.0, 3600.0) * 1e9));
}

} // namespace

// The path has been lost, or what was to become one.
void Recoverer::judge(Peer &peer)
{
    if (!peer.tcp_agreed || peer.no_rdma) {
        return;
    }
    const std::uint64_t time   = m_fabric.now();
    const std::uint64_t stable = stable_ns(m_fabric.m_config);
    if (peer.state == Peer::State::ready &&
        (time - peer.made_at >= stable || carried(peer) != peer.made_with)) {
        peer.failures  = 0;
        peer.try_pause = 0;
    }
    if (!m_fabric.m_record.port_is_up() || m_device_failed) {
        give_up_rdma(peer);
    } else if (++peer.failures >= most_failures) {
        give_up_rdma(peer);
        peer.try_pause = std::clamp(2 * peer.try_pause, stable, longest_pause * stable);
        peer.try_at    = time + peer.try_pause;
    }
}

void Recoverer::give_up_rdma(Peer &peer)
{
    peer.no_rdma = true;
    peer.try_at  = never;
    (void)peer.recovery.no_device(m_fabric.now()); // nothing follows from it at once
    BE_FAULT_POINT("RDMA given up");
}

void Recoverer::try_rdma(Peer &peer)
{
    peer.failures = most_failures - 1; // one more, unless it is of use
    BE_FAULT_POINT("RDMA tried again");
    run(peer, has_rdma(peer));
}

// After all, or again.
core::RecoverySteps Recoverer::has_rdma(Peer &peer)
{
    peer.no_rdma = false;
    peer.try_at  = never;
    return peer.recovery.device_back(m_fabric.now());
}

// Those that have a path lose it when it fails, not before: a link that comes back soon harms nobody. Those that wait
// for another try get it when it is back.
void Recoverer::port_changed(bool up)
{
    const std::uint64_t time = m_fabric.now();
    for (Peer *peer : m_ailing) {
        const bool without = peer->state == Peer::State::recovering ||
                             peer->tcp != nullptr;
        if (!up && without && peer->tcp_agreed) {
            give_up_rdma(*peer);
        } else if (up && peer->no_rdma && peer->try_at == never) {
            peer->try_at = time + stable_ns(m_fabric.m_config);
        } else if (up) {
            peer->recovery.hasten(time);
        }
    }
}

void Recoverer::look_at_rdma(Peer &peer, std::uint64_t time)
{
    if (!peer.no_rdma || peer.try_at > time || !recoverable(peer)) {
        return;
    }
    if (m_device_failed) {
        peer.try_at = never;
    } else {
        try_rdma(peer);
    }
}

// Both Recovers of this epoch are here, and one says TCP.
void Recoverer::resume_over_tcp(Peer &peer)
{
    if (!peer.own || !peer.theirs || peer.theirs->epoch != peer.recovery.epoch()) {
        return; // there is another epoch by now
    }
    m_fabric.close_queues(peer); // fresh ones, for which the peer has no use
    if (!take_position(peer)) {
        return;
    }
    BE_FAULT_POINT("position taken for TCP");
    try {
        m_fabric.m_tcp.open(peer);
    } catch (const std::bad_alloc &) {
        m_fabric.fail(peer, BE_ERR_NO_MEMORY, "there is no memory to go on over TCP");
    }
    if (peer.state != Peer::State::recovering) {
        return; // it is lost
    }
    if (!std::exchange(peer.fallen_back, true)) {
        ++m_fabric.m_counters.fallbacks;
        const std::uint64_t time = m_fabric.now();
        const bool warn          = m_told_at == 0 || time - m_told_at >= quiet_ns;
        m_told_at                = warn ? time : m_told_at;
        log(warn ? BE_LOG_WARN : BE_LOG_INFO,
            "{}: goes on over TCP, {} has no RDMA to the other", peer.name,
            peer.no_rdma ? "this end" : "the peer");
    }
    BE_FAULT_POINT("TCP opened");
    resumed(peer);
}

} // namespace be::engine
