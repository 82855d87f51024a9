// SPDX-License-Identifier: BSD-3-Clause
//
// The completion queue that all send queues share, as an account: a work request takes a slot of it from when it is
// posted until it is retired, whether it asked for a completion or not, since each may raise one when its queue pair
// fails. So the queue is never overrun, however many peers there are and however deep their queues.
//
// Three classes, each of which leaves room to the next: work of the members, up to three quarters; what the protocol
// says, which they wait for, half of the rest; markers, which bring slots back that others hold without having asked for
// a completion. Whoever finds no room is refused, or deferred and tried again in turn.
//
// Invariant: outstanding() <= entries().

#pragma once

#include "engine/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace be::engine {

class SendAccount {
public:
    explicit SendAccount(unsigned entries) noexcept :
        m_entries(entries),
        m_for_work(entries / 4 * 3),
        m_for_protocol(entries / 8 * 7),
        m_crowd(std::min(entries / 4, most_sends_put_off))
    {
    }

    unsigned entries() const noexcept
    {
        return m_entries;
    }

    // For a message, a put, a get; some take two.
    bool room() const noexcept
    {
        return outstanding() < m_for_work;
    }

    // For a credit cell, a notice, credit that goes back.
    bool room_for_protocol() const noexcept
    {
        return outstanding() < m_for_protocol;
    }

    bool room_for_marker() const noexcept
    {
        return outstanding() < m_entries;
    }

    void posted(bool signalled) noexcept
    {
        ++m_posted;
        m_signals += signalled ? 1 : 0;
    }

    // Posted on the next path, signalled, what took its slot before.
    void replayed(unsigned count) noexcept
    {
        m_signals += count;
    }

    void retired() noexcept
    {
        ++m_retired;
    }

    // One was polled. It may be of a failure, and not have been asked for.
    void completed() noexcept
    {
        m_signals -= std::min(m_signals, 1u);
    }

    std::uint64_t outstanding() const noexcept
    {
        return m_posted - m_retired;
    }

    // Completions that were asked for and have not been polled, more or less: for when to look.
    unsigned signals() const noexcept
    {
        return m_signals;
    }

    // Nothing is awaited any more: what was not completed failed with its queue pair.
    void forget_signals() noexcept
    {
        m_signals = 0;
    }

    // So many wait that arrivals must not put them off.
    bool crowded() const noexcept
    {
        return m_signals >= m_crowd;
    }

    // Could a look for queues that need a marker find any? Not when nothing was posted since the last one.
    bool reclaim_due() const noexcept
    {
        return !room() && m_posted != m_reclaimed;
    }

    // That look has been at all of them, or has run out of room: then it is due again.
    void reclaimed(bool all) noexcept
    {
        m_reclaimed = all ? m_posted : ~std::uint64_t{0};
    }

private:
    const unsigned m_entries;
    const unsigned m_for_work;
    const unsigned m_for_protocol;
    const unsigned m_crowd;
    std::uint64_t m_posted    = 0;
    std::uint64_t m_retired   = 0;
    std::uint64_t m_reclaimed = 0; // m_posted at that time
    unsigned m_signals        = 0;
};

} // namespace be::engine
