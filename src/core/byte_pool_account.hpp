// SPDX-License-Identifier: BSD-3-Clause
//
// Private to the byte pool: the derived quantities of a channel, and the one place where
// the sums over all channels change. Terms are those of byte_pool.hpp.

#pragma once

#include <algorithm>

#include "core/byte_pool.hpp"

namespace be::core {

inline unsigned BytePool::account_of(const Channel &channel)
{
    return channel.late ? 2 : channel.running ? 1 : 0;
}

/* Would another quantum exceed its cap? The first never does. */
inline bool BytePool::over_cap(const Channel &channel) const
{
    uint32_t held = channel.outstanding();

    return (held != 0) &&
           (held + std::min(m_config.quantum, channel.open()) > channel.cap);
}

inline uint32_t BytePool::room() const
{
    return budget() - outstanding();
}

inline uint64_t BytePool::transfer_ns(uint32_t units) const
{
    return uint64_t{units} * m_config.unit_ps / 1000;
}

template<class Change>
void BytePool::account(Channel &channel, Change &&change)
{
    m_account[account_of(channel)] -= channel.outstanding();
    change();
    m_account[account_of(channel)] += channel.outstanding();
}

} // namespace be::core
