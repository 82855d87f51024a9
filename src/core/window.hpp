// SPDX-License-Identifier: BSD-3-Clause
//
// Bounds the bytes of bulk data (sends of bulk, writes and reads alike) that are posted
// and not completed, for each peer and for the port.
//
// A peer may hold its own window at most, and when several are active no more than an
// equal part of the port's. One peer's window is smaller than the port's by a quantum, so
// a peer that does not complete anything never holds all of the port: a newcomer can
// always send.
//
// What is admitted is whole quanta (or the rest of the data): a small remainder of a
// window is left alone, since cutting data to fit it would cost an operation for few
// bytes.
//
// Units are bytes. Not thread safe; the owner serialises calls. No call allocates;
// constructors throw std::invalid_argument on a configuration that could not send
// anything.

#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/invariant.hpp"

namespace be::core {

struct WindowConfig {
    uint64_t port = 4u << 20; /* outstanding on the port, >= 2 quanta */
    uint64_t peer =
            2u
            << 20; /* outstanding toward one peer, >= 1 quantum; cut to port - quantum */
    uint32_t quantum = 64u << 10; /* piece that bulk is cut into, >= 1 */
};

/* Bytes outstanding toward one peer. */
class PeerWindow {
public:
    uint64_t outstanding() const
    {
        return m_outstanding;
    }

private:
    friend class PortWindow;
    uint64_t m_outstanding = 0;
};

class PortWindow {
public:
    explicit PortWindow(const WindowConfig &config) : m_config(config)
    {
        if (config.quantum == 0) {
            throw std::invalid_argument("window quantum is 0 bytes, expected at least 1");
        }
        if (config.port / 2 < config.quantum) {
            throw std::invalid_argument("port window is " + std::to_string(config.port) +
                                        " bytes, expected at least two quanta of " +
                                        std::to_string(config.quantum));
        }
        if (config.peer < config.quantum) {
            throw std::invalid_argument("peer window is " + std::to_string(config.peer) +
                                        " bytes, expected at least one quantum of " +
                                        std::to_string(config.quantum));
        }
        m_config.peer = std::min(config.peer, config.port - config.quantum);
    }

    /* How many peers have bulk queued or outstanding; the owner keeps it current. */
    void set_active(uint32_t peers)
    {
        m_active = peers;
    }

    /* Most bytes that one peer may have outstanding now. */
    uint64_t peer_cap() const
    {
        if (m_active <= 1) {
            return m_config.peer;
        }
        return std::min(m_config.peer,
                        std::max<uint64_t>(m_config.quantum, m_config.port / m_active));
    }

    /* Admits up to a quantum of the `want` bytes and counts them as outstanding. Returns
     * how many: min(want, quantum), or 0 when the peer's or the port's room is smaller
     * than that. */
    uint32_t admit(PeerWindow &peer, uint64_t want)
    {
        uint64_t piece = std::min<uint64_t>(want, m_config.quantum);

        if (!port_has_room(want) || (peer.m_outstanding + piece > peer_cap())) {
            return 0;
        }
        peer.m_outstanding += piece;
        m_outstanding += piece;
        BE_CORE_INVARIANT(m_outstanding <= m_config.port);
        BE_CORE_INVARIANT(peer.m_outstanding <= m_config.peer);
        return static_cast<uint32_t>(piece);
    }

    /* Would the port admit the next piece of `want` bytes, from a peer that has room? */
    bool port_has_room(uint64_t want) const
    {
        return m_outstanding + std::min<uint64_t>(want, m_config.quantum) <=
               m_config.port;
    }

    /* Would all of `bytes` fit? A peer with nothing outstanding may always exceed its own
     * part. */
    bool whole_has_room(const PeerWindow &peer, uint64_t bytes) const
    {
        return (m_outstanding + bytes <= m_config.port) &&
               ((peer.m_outstanding == 0) || (peer.m_outstanding + bytes <= peer_cap()));
    }

    /* Admits all of `bytes`, a message that cannot be cut, or nothing. */
    bool admit_whole(PeerWindow &peer, uint64_t bytes)
    {
        if (!whole_has_room(peer, bytes)) {
            return false;
        }
        peer.m_outstanding += bytes;
        m_outstanding += bytes;
        return true;
    }

    /* `bytes` of what was admitted have completed, or never will. More than is
     * outstanding counts as all. Returns what was taken off. */
    uint64_t complete(PeerWindow &peer, uint64_t bytes)
    {
        uint64_t done = std::min(bytes, peer.m_outstanding);

        peer.m_outstanding -= done;
        m_outstanding -= done;
        return done;
    }

    uint64_t outstanding() const
    {
        return m_outstanding;
    }

    const WindowConfig &config() const
    {
        return m_config;
    }

private:
    WindowConfig m_config;
    uint64_t m_outstanding = 0;
    uint32_t m_active      = 0;
};

} // namespace be::core
