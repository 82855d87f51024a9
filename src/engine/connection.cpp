// SPDX-License-Identifier: BSD-3-Clause
//
// Peers come to be: side-channel events, the three-way handshake.
//
// Connect and Accept both say "this is my end for you", so whichever end hears of the other first can connect
// its queue pairs. A side posts only when it knows that the other's queue pairs are connected: the initiator
// after Accept, the responder after Ready.
//
// When both begin at once, the connection of the fabric with the smaller id is kept: that side refuses the other's
// Connect as a duplicate, the other adopts this one.

#include "control/fault_point.hpp"
#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace be::engine {
Link *Fabric::connect(Member &member, const FabricAddress &address, be_status_t *status)
{
    Peer *peer = nullptr;
    *status    = BE_OK;
    try {
        const auto found = m_by_fabric.find(address.identity.fabric_id);
        if (found == m_by_fabric.end()) {
            peer = &add_peer(address.identity);
        }
        Link &link = link_to(peer != nullptr ? *peer : *found->second, member,
                             address.iface);
        if (peer != nullptr) {
            start(*peer, address);
        }
        ++link.references;
        return &link;
    } catch (const std::exception &error) {
        *status = BE_ERR_NO_MEMORY;
        log(BE_LOG_ERROR, "cannot connect to fabric {:016x} at {}: {}",
            address.identity.fabric_id, address.control.to_string(), error.what());
        if (peer != nullptr) {
            remove_peer(*peer);
        }
        return nullptr;
    }
}

Link &Fabric::link_to(Peer &peer, Member &member, std::uint16_t iface)
{
    auto &link = peer.links[Link::key(member.id(), iface)];
    if (link == nullptr) {
        link = std::make_unique<Link>(member, peer, iface);
        bar(*link);
    }
    return *link;
}

void Fabric::start(Peer &peer, const FabricAddress &address)
{
    peer.name = fmt::format("fabric {:016x} at {}", address.identity.fabric_id,
                            address.control.to_string());
    make_queues(peer);
    if (address.identity.fabric_id == m_address.identity.fabric_id) {
        connect_to_self(peer);
        return;
    }
    peer.initiator = true;
    peer.control   = address.control;
    ::randombytes_buf(&peer.session, sizeof(peer.session));
    peer.session |= 1; // 0 is none
    peer.connection = m_node->connect(m_address.identity.fabric_id, address.control,
                                      address.identity, first_info(peer));
    m_by_connection.emplace(peer.connection, &peer);
}

Peer &Fabric::add_peer(const control::Identity &identity)
{
    const auto index = m_flow.join(now());
    if (!index) {
        throw std::runtime_error(
                fmt::format("the fabric has {} peers, as many as it can hold",
                            m_flow.max_peers()));
    }
    if (*index >= m_peers.size()) {
        m_peers.resize(*index + 1);
    }
    m_peers[*index] = std::make_unique<Peer>(*this, *index, identity,
                                             m_recoverer.config());
    Peer &peer      = *m_peers[*index];
    m_by_fabric.insert_or_assign(identity.fabric_id, &peer);
    drain_actions();
    return peer;
}

void Fabric::connect_to_self(Peer &peer)
{
    peer.self = true;
    wire(peer, first_info(peer));
    become_ready(peer);
}

void Fabric::become_ready(Peer &peer)
{
    peer.state = Peer::State::ready;
    peer.messages.start();
    peer.bulk.start();
    (void)peer.recovery.connected(now());
    log(BE_LOG_DEBUG,
        "{}: connected, queue pairs {:#x} and {:#x}, {} messages granted to it",
        peer.name, peer.messages.qp().number(), peer.bulk.qp().number(),
        m_flow.granted(peer.index));
    freed(peer);
    BE_FAULT_POINT("connected");
}

// Returns how many concerned us. UCX takes an interface that has just been made and is not quiet for broken, and our device
// also tells what happens to other interfaces.
unsigned Fabric::handle_control()
{
    m_events.clear();
    m_inbox.take(m_events);
    auto count = static_cast<unsigned>(m_events.size());
    for (ControlEvent &event : m_events) {
        switch (event.kind) {
        case ControlEvent::Kind::connect:
            on_connect(event);
            break;
        case ControlEvent::Kind::accept:
            on_accept(event);
            break;
        case ControlEvent::Kind::ready:
            on_ready(event);
            break;
        case ControlEvent::Kind::closed:
            on_closed(event);
            break;
        case ControlEvent::Kind::recover:
            m_recoverer.on_recover(event);
            break;
        case ControlEvent::Kind::recovered:
            m_recoverer.on_recovered(event);
            break;
        case ControlEvent::Kind::device:
            count -= !m_recoverer.on_device(*event.device);
            break;
        case ControlEvent::Kind::probed:
            m_recoverer.on_probed(event);
            break;
        case ControlEvent::Kind::data:
            m_tcp.on_data(event);
            break;
        case ControlEvent::Kind::writable:
            m_tcp.on_writable(event.connection);
            break;
        }
    }
    m_tcp.answer();
    return count;
}

Peer *Fabric::by_connection(control::ConnectionId id)
{
    const auto found = m_by_connection.find(id);
    return found == m_by_connection.end() ? nullptr : found->second;
}

void Fabric::drop_connection(Peer &peer)
{
    m_by_connection.erase(peer.connection);
    peer.connection = 0;
}

// What to do with the peer that this fabric id already has, when its Connect arrives. False: the Connect is
// refused.
bool Fabric::make_way(Peer &peer)
{
    const bool ours_wins = m_address.identity.fabric_id < peer.remote.fabric_id;
    if (peer.initiator && ours_wins) {
        return false;
    }
    if (peer.state == Peer::State::connecting && peer.initiator) {
        // Both began at once and the other's connection is kept.
        if (peer.connection != 0) {
            m_node->close(peer.connection);
            drop_connection(peer);
        }
        peer.initiator = false;
        return true;
    }
    // It would not connect again if it still knew of this connection.
    fail(peer, BE_ERR_PEER_FAILED, "it has connected anew");
    return true;
}

void Fabric::on_connect(ControlEvent &event)
{
    if (event.info.resume) {
        m_recoverer.on_resume(event);
        return;
    }
    const std::uint64_t id = event.info.fabric_id;
    Peer *peer             = nullptr;
    if (const auto found = m_by_fabric.find(id); found != m_by_fabric.end()) {
        if (!make_way(*found->second)) {
            m_node->refuse(event.connection, control::Reason::duplicate,
                           "the fabrics are connected already");
            return;
        }
        const auto still = m_by_fabric.find(id);
        peer             = still == m_by_fabric.end() ? nullptr : still->second;
    }
    try {
        if (peer == nullptr) {
            peer       = &add_peer({id, {}});
            peer->name = fmt::format("fabric {:016x} at {}", id,
                                     event.info.control.to_string());
            make_queues(*peer);
        }
        peer->connection = event.connection;
        peer->control    = event.info.control;
        peer->session    = event.info.session;
        m_by_connection.emplace(event.connection, peer);
        wire(*peer, event.info);
        m_node->accept(event.connection, first_info(*peer));
    } catch (const std::exception &error) {
        log(BE_LOG_ERROR, "cannot accept fabric {:016x} at {}: {}", id,
            event.info.control.to_string(), error.what());
        m_node->refuse(event.connection, control::Reason::incompatible, error.what());
        if (peer != nullptr) {
            fail(*peer, BE_ERR_UNREACHABLE, error.what());
        }
    }
}

void Fabric::on_accept(ControlEvent &event)
{
    Peer *peer = by_connection(event.connection);
    if (peer != nullptr && Recoverer::recoverable(*peer)) {
        m_recoverer.on_resumed(*peer, event);
        return;
    }
    if (peer == nullptr || peer->state != Peer::State::connecting) {
        return;
    }
    try {
        wire(*peer, event.info);
    } catch (const std::exception &error) {
        m_node->refuse(event.connection, control::Reason::incompatible, error.what());
        fail(*peer, BE_ERR_UNREACHABLE, error.what());
        return;
    }
    m_node->ready(event.connection);
    become_ready(*peer);
}

void Fabric::on_ready(ControlEvent &event)
{
    Peer *peer = by_connection(event.connection);
    if (peer != nullptr && peer->state == Peer::State::connecting) {
        become_ready(*peer);
    } else if (peer != nullptr && Recoverer::recoverable(*peer)) {
        m_recoverer.regain_channel(*peer);
    }
}

void Fabric::on_closed(ControlEvent &event)
{
    Peer *peer = by_connection(event.connection);
    if (peer == nullptr) {
        return;
    }
    drop_connection(*peer);
    switch (event.reason) {
    case control::Reason::duplicate:
        // The other side's own Connect is on its way.
        if (peer->state == Peer::State::connecting) {
            expect(*peer);
        }
        break;
    case control::Reason::goodbye:
        depart(*peer);
        break;
    case control::Reason::local:
    case control::Reason::closed_by_peer:
    case control::Reason::unreachable:
    case control::Reason::resources:
        if (Recoverer::recoverable(*peer)) {
            m_recoverer.lose_channel(*peer, event);
            break;
        }
        [[fallthrough]];
    default:
        fail(*peer,
             peer->state == Peer::State::connecting ? BE_ERR_UNREACHABLE :
                                                      BE_ERR_PEER_FAILED,
             event.detail);
        break;
    }
}

} // namespace be::engine
