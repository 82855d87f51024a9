// SPDX-License-Identifier: BSD-3-Clause
//
// Deficit round robin over the peers that have bulk to send.
//
// Each peer in turn may send a quantum of bytes; what it does not use of its turn stays
// with it, what it uses beyond is taken off its next turns. So peers share a port equally
// in bytes, whatever the sizes of their operations.
//
// Not thread safe; the owner serialises calls. Only resize() allocates. next() is O(1)
// amortised over bytes charged.

#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/index_list.hpp"

namespace be::core {

class Scheduler {
public:
    struct Turn {
        uint32_t peer;
        uint32_t bytes; /* what the peer may still send in this turn, >= 1 */

        bool operator==(const Turn &) const = default;
    };

    /* quantum: bytes of one turn, >= 1 (else std::invalid_argument). */
    explicit Scheduler(uint32_t quantum) : m_quantum(quantum)
    {
        if (quantum == 0) {
            throw std::invalid_argument(
                    "scheduler quantum is 0 bytes, expected at least 1");
        }
    }

    /* Makes peers [0, count) valid. */
    void resize(std::size_t count)
    {
        m_ring.resize(count);
        if (count > m_deficit.size()) {
            m_deficit.resize(count, 0);
        }
    }

    /* The peer has something to send; it joins the end of the round. Nothing happens when
     * it is in already. */
    void activate(uint32_t peer)
    {
        m_ring.push_back(peer);
    }

    /* The peer has nothing to send, or may not. An unused rest of its turn is lost, a
     * debt is kept: stopping and starting again must not pay. */
    void deactivate(uint32_t peer)
    {
        m_ring.erase(peer);
        if (m_deficit[peer] > 0) {
            m_deficit[peer] = 0;
        }
    }

    /* A new peer takes this index: no debt. */
    void reset(uint32_t peer)
    {
        m_ring.erase(peer);
        m_deficit[peer] = 0;
    }

    bool active(uint32_t peer) const
    {
        return m_ring.contains(peer);
    }

    bool empty() const
    {
        return m_ring.empty();
    }

    /* Whose turn it is, and for how much. Asking again without charge() gives the same
     * answer. */
    std::optional<Turn> next()
    {
        while (!m_ring.empty()) {
            uint32_t peer = m_ring.front();

            if (m_deficit[peer] > 0) {
                return Turn{.peer  = peer,
                            .bytes = static_cast<uint32_t>(m_deficit[peer])};
            }
            m_deficit[peer] += m_quantum;
            if (m_deficit[peer] <= 0) {
                rotate(peer);
            }
        }
        return std::nullopt;
    }

    /* The peer has sent `bytes`; its turn ends when they use it up. */
    void charge(uint32_t peer, uint32_t bytes)
    {
        m_deficit[peer] -= bytes;
        if ((m_deficit[peer] <= 0) && m_ring.contains(peer)) {
            rotate(peer);
        }
    }

private:
    void rotate(uint32_t peer)
    {
        m_ring.erase(peer);
        m_ring.push_back(peer);
    }

    IndexList m_ring;
    std::vector<int64_t> m_deficit;
    uint32_t m_quantum;
};

} // namespace be::core
