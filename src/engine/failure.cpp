// SPDX-License-Identifier: BSD-3-Clause
//
// Peers go: by failure, by goodbye, or because nobody wants them any more.

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"

#include <algorithm>
#include <utility>

namespace be::engine {
namespace {

// How long a device may take to flush two queue pairs that are in error. Devices need microseconds; beyond this
// the queue pairs are destroyed, which makes the device let go as well.
constexpr auto drain_limit = std::chrono::seconds(1);

} // namespace

void Fabric::fail(Peer &peer, be_status_t status, std::string_view why)
{
    if (!peer.usable()) {
        return;
    }
    ++m_counters.peers_failed;
    peer.why = why;
    begin_drain(peer, status);
}

void Fabric::depart(Peer &peer)
{
    if (!peer.usable()) {
        return;
    }
    ++m_counters.peers_departed;
    peer.departed = true;
    peer.why      = "it said goodbye";
    log(BE_LOG_DEBUG, "{}: said goodbye", peer.name);
    begin_drain(peer, BE_ERR_PEER_FAILED);
}

void Fabric::log_unattended(const Peer &peer) const
{
    if (!peer.departed) {
        log(peer.wired ? BE_LOG_WARN : BE_LOG_INFO, "{}: lost: {}", peer.name, peer.why);
    }
}

void Fabric::begin_drain(Peer &peer, be_status_t status)
{
    peer.state  = Peer::State::draining;
    peer.status = status;
    peer.tcp.reset();
    if (const auto found = m_by_fabric.find(peer.remote.fabric_id);
        found != m_by_fabric.end() && found->second == &peer) {
        m_by_fabric.erase(found);
    }
    if (peer.connection != 0) {
        if (peer.departed) {
            m_node->close(peer.connection, false);
        } else { // it need not find out by itself that it is given up
            m_node->refuse(peer.connection, control::Reason::refused, peer.why);
        }
        drop_connection(peer);
    }
    await_drain(peer);
    BE_FAULT_POINT("peer given up");
}

void Fabric::await_drain(Peer &peer)
{
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        if (queue->exists()) {
            (void)queue->qp().to_error(); // or it goes when the time is over
        }
    }
    mark_drains(peer);
    peer.deadline = std::chrono::steady_clock::now() + drain_limit;
    if (std::find(m_draining.begin(), m_draining.end(), &peer) == m_draining.end()) {
        m_draining.push_back(&peer);
    }
}

void Fabric::expect(Peer &peer)
{
    peer.deadline = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(m_config.connect_timeout));
    m_expected.push_back(&peer);
}

unsigned Fabric::finish_drains()
{
    const auto time = std::chrono::steady_clock::now();
    unsigned done   = 0;

    for (std::size_t i = 0; i < m_expected.size();) {
        Peer &peer         = *m_expected[i];
        const bool waiting = peer.state == Peer::State::connecting &&
                             peer.connection == 0;
        if (waiting && time < peer.deadline) {
            ++i;
            continue;
        }
        m_expected[i] = m_expected.back();
        m_expected.pop_back();
        if (waiting) {
            fail(peer, BE_ERR_UNREACHABLE,
                 "both ends connected at once and its Connect never came");
        }
    }

    for (std::size_t i = 0; i < m_draining.size();) {
        Peer &peer = *m_draining[i];
        if ((!peer.messages.drained() || !peer.bulk.drained()) && time < peer.deadline) {
            mark_drains(peer);
            ++i;
            continue;
        }
        m_draining[i] = m_draining.back();
        m_draining.pop_back();
        // Nothing more can arrive from it.
        take_last_arrivals();
        if (peer.state == Peer::State::recovering) {
            m_recoverer.path_drained(peer);
        } else {
            finish_drain(peer);
        }
        ++done;
    }
    return done;
}

void Fabric::take_last_arrivals()
{
    for (unsigned left = m_receive_cq.entries(); left != 0;) {
        const unsigned count = poll_receives();
        if (count == 0) {
            break;
        }
        left -= std::min(left, count);
    }
}

void Fabric::finish_drain(Peer &peer)
{
    destroy_queues(peer);
    BE_FAULT_POINT("queue pairs gone");
    cancel_operations(peer);
    drop_parked(peer);
    for (Link *link : std::exchange(peer.flushing, {})) {
        link->flushing = false;
        while (!link->waiters.empty()) {
            take_waiter(*link, peer.departed ? BE_OK : BE_ERR_PEER_FAILED);
        }
    }
    flow_event([&](core::Actions &actions) { m_flow.leave(peer.index, now(), actions); });
    std::erase(m_deferred, &peer);
    m_recoverer.forget(peer);
    m_record.forget(peer);
    peer.deferred = false;
    peer.state    = Peer::State::dead;
    for (const std::uint16_t id : peer.holding) {
        m_members[id]->forget(peer);
    }
    m_dead.push_back(std::move(m_peers[peer.index])); // the index may be another's now
    if (!peer.referenced()) {
        log_unattended(peer);
        m_free_due = true;
    }
    for (const auto &[key, link] : peer.links) {
        if (link->references != 0 &&
            (!peer.departed || link->queued != 0 || link->missed)) {
            report(*link);
        }
    }
    freed(peer);
}

void Fabric::report(Link &link)
{
    if (!link.report_due) {
        link.report_due = true;
        link.awaited    = true;
        link.member.post(
                {.kind = Mail::Kind::failure, .status = status(link), .object = &link});
    }
}

be_status_t Fabric::status(const Link &link) const noexcept
{
    return link.peer.usable() && link.gone ? BE_ERR_PEER_FAILED : link.peer.status;
}

// The member has called, or need not any more.
void Fabric::reported(Link &link) noexcept
{
    link.awaited = false;
    m_free_due   = true;
}

be_status_t Fabric::unusable(Link &link)
{
    const Peer &peer = link.peer;
    if (peer.usable() && !link.gone) {
        return refuse(link); // connecting, or on hold
    }
    if (peer.state == Peer::State::dead || link.gone) {
        report(link); // a peer that has departed is missed only now
    }
    link.missed = true;
    return status(link);
}

void Fabric::release(Link &link) noexcept
{
    if (--link.references == 0 && link.peer.state == Peer::State::dead) {
        m_free_due = true;
    }
}

void Fabric::free_dead_peers()
{
    m_free_due = false;
    for (std::size_t i = 0; i < m_dead.size();) {
        if (m_dead[i]->referenced()) {
            ++i;
            continue;
        }
        for (const auto &[key, link] : m_dead[i]->links) {
            link->member.forget(*link);
        }
        m_dead[i] = std::move(m_dead.back());
        m_dead.pop_back();
    }
}

void Fabric::remove_peer(Peer &peer)
{
    if (const auto found = m_by_fabric.find(peer.remote.fabric_id);
        found != m_by_fabric.end() && found->second == &peer) {
        m_by_fabric.erase(found);
    }
    destroy_queues(peer);
    flow_event([&](core::Actions &actions) { m_flow.leave(peer.index, now(), actions); });
    std::erase(m_deferred, &peer);
    m_record.forget(peer);
    for (const auto &[key, link] : peer.links) {
        link->member.forget(*link);
    }
    m_peers[peer.index].reset();
}

void Fabric::probe(Link &link)
{
    Peer &peer = link.peer;
    if (!peer.usable() || link.gone) {
        (void)unusable(link);
        return;
    }
    // A write of no bytes is answered by the peer's device or fails its queue pair. One at a time is enough.
    if (peer.state == Peer::State::ready && peer.bulk.idle() && peer.bulk.room() != 0) {
        post_marker(peer, peer.bulk);
    }
}

} // namespace be::engine
