// SPDX-License-Identifier: BSD-3-Clause
//
// Private to the receive pool: the derived quantities of a peer, and the one place where
// the sums over all peers change. Terms are those of receive_pool.hpp.

#pragma once

#include <algorithm>

#include "core/receive_pool.hpp"

namespace be::core {

inline uint32_t ReceivePool::floor_gap(const Peer &peer)
{
    return peer.floor - std::min<uint32_t>(peer.floor, peer.outstanding());
}

inline uint32_t ReceivePool::share_of(const Peer &peer) const
{
    return std::max<uint32_t>(m_share, peer.floor);
}

/* Changes the totals or the floor of a peer and keeps the sums up to date. */
template<class Change>
void ReceivePool::account(Peer &peer, Change &&change)
{
    m_outstanding -= peer.outstanding();
    m_reserved -= std::max<uint32_t>(peer.outstanding(), peer.floor);
    m_standing -= std::max<uint32_t>(peer.standing(), peer.floor);

    change();

    m_outstanding += peer.outstanding();
    m_reserved += std::max<uint32_t>(peer.outstanding(), peer.floor);
    m_standing += std::max<uint32_t>(peer.standing(), peer.floor);
}

} // namespace be::core
