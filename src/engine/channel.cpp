// SPDX-License-Identifier: BSD-3-Clause
//
// The side channel to a peer is cut. Data flows on over RDMA meanwhile. Who connected first connects again; the other,
// who does not know the token that this takes, asks whether the peer's process lives. A process that has ended is found
// out at once by either: nobody listens there any more, or somebody else does.

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"
#include "engine/log.hpp"

#include <algorithm>
#include <utility>

namespace be::engine {
namespace {

constexpr std::uint64_t first_pause   = 5'000'000; // ns, between attempts
constexpr std::uint64_t longest_pause = 500'000'000;

} // namespace

void Recoverer::lose_channel(Peer &peer, const ControlEvent &event)
{
    peer.cause = event.detail;
    if (!peer.recovery.channel_is_lost()) {
        log(BE_LOG_INFO, "{}: side channel lost: {}", peer.name, event.detail);
        ++m_fabric.m_counters.channels_lost;
        peer.dial_pause = first_pause;
        ail(peer);
        tell_use(peer);
        run(peer, peer.recovery.channel_lost(m_fabric.now()));
        BE_FAULT_POINT("channel lost");
    } else if (event.reason == control::Reason::unreachable) {
        probe_process(peer);
    } else {
        put_off_redial(peer);
    }
}

void Recoverer::redial(Peer &peer)
{
    peer.redial_at = ~std::uint64_t{0};
    if (!peer.initiator) {
        probe_process(peer);
        return;
    }
    try {
        control::ConnectInfo info = m_fabric.connect_info(peer);
        info.resume               = true;
        peer.connection = m_fabric.m_node->connect(m_fabric.m_address.identity.fabric_id,
                                                   peer.control, peer.remote, info);
        m_fabric.m_by_connection.emplace(peer.connection, &peer);
    } catch (const std::exception &error) {
        peer.cause = error.what();
        put_off_redial(peer);
    }
}

void Recoverer::probe_process(Peer &peer)
{
    if (peer.probe != 0) {
        return;
    }
    try {
        peer.probe = m_fabric.m_node->probe(m_fabric.m_address.identity.fabric_id,
                                            peer.control, peer.remote.fabric_id);
    } catch (const std::exception &error) {
        peer.cause = error.what();
        put_off_redial(peer);
    }
}

void Recoverer::put_off_redial(Peer &peer)
{
    peer.redial_at  = m_fabric.now() + peer.dial_pause;
    peer.dial_pause = std::min(2 * peer.dial_pause, longest_pause);
}

void Recoverer::on_probed(const ControlEvent &event)
{
    const auto found = std::find_if(m_ailing.begin(), m_ailing.end(), [&](Peer *peer) {
        return peer->probe == event.connection;
    });
    if (found == m_ailing.end()) {
        return;
    }
    Peer &peer = **found;
    peer.probe = 0;
    if (!recoverable(peer) || !peer.recovery.channel_is_lost()) {
        return;
    }
    if (event.result == control::ProbeResult::gone) {
        peer.cause += "; it is not there any more";
        run(peer, peer.recovery.refused(m_fabric.now()));
    } else if (peer.connection == 0) {
        put_off_redial(peer);
    }
}

// The peer, which connected first, connects again.
void Recoverer::on_resume(const ControlEvent &event)
{
    const auto found = m_fabric.m_by_fabric.find(event.info.fabric_id);
    if (found == m_fabric.m_by_fabric.end() || !recoverable(*found->second) ||
        found->second->session != event.info.session) {
        m_fabric.m_node->refuse(event.connection, control::Reason::unknown_session,
                                "this end has given the connection up");
        return;
    }
    Peer &peer = *found->second;
    if (peer.connection != 0) { // it knows of the loss before we do
        m_fabric.m_node->close(peer.connection, false);
        m_fabric.drop_connection(peer);
    }
    peer.cause = "the peer connects again";
    ail(peer);
    tell_use(peer);
    run(peer, peer.recovery.channel_lost(m_fabric.now()));
    peer.connection = event.connection;
    m_fabric.m_by_connection.emplace(event.connection, &peer);
    m_fabric.m_node->accept(event.connection, m_fabric.connect_info(peer));
}

// We have.
void Recoverer::on_resumed(Peer &peer, const ControlEvent &event)
{
    if (event.info.session != peer.session) {
        m_fabric.m_node->refuse(event.connection, control::Reason::unknown_session,
                                "the connection that was resumed is another");
        return;
    }
    m_fabric.m_node->ready(event.connection);
    regain_channel(peer);
}

void Recoverer::regain_channel(Peer &peer)
{
    if (peer.recovery.channel_is_lost()) {
        log(BE_LOG_INFO, "{}: side channel regained", peer.name);
        peer.redial_at = ~std::uint64_t{0};
        run(peer, peer.recovery.channel_back(m_fabric.now()));
        BE_FAULT_POINT("channel regained");
    }
}

} // namespace be::engine
