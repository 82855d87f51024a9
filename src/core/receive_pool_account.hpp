// SPDX-License-Identifier: BSD-3-Clause
//
// Private to the receive pool: the derived quantities of a peer, and the one place where
// the sums over all peers change. Terms are those of receive_pool.hpp.

#pragma once

#include <algorithm>

#include "core/receive_pool.hpp"

namespace be::core {

inline uint32_t ReceivePool::standing_of(const Peer &peer)
{
    return static_cast<uint32_t>(std::max(0, serial_diff(peer.granted, peer.demand)));
}

inline uint32_t ReceivePool::floor_gap(const Peer &peer)
{
    return peer.floor - std::min<uint32_t>(peer.floor, outstanding_of(peer));
}

inline uint32_t ReceivePool::share_of(const Peer &peer) const
{
    return std::max<uint32_t>(m_share, peer.floor);
}

/* Changes the totals or the floor of a peer and keeps the sums up to date. */
template<class Change>
void ReceivePool::account(Peer &peer, Change &&change)
{
    m_outstanding -= outstanding_of(peer);
    m_reserved -= std::max<uint32_t>(outstanding_of(peer), peer.floor);
    m_standing -= std::max<uint32_t>(standing_of(peer), peer.floor);

    change();

    m_outstanding += outstanding_of(peer);
    m_reserved += std::max<uint32_t>(outstanding_of(peer), peer.floor);
    m_standing += std::max<uint32_t>(standing_of(peer), peer.floor);
}

} // namespace be::core
