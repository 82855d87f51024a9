// SPDX-License-Identifier: BSD-3-Clause
//
// What the protocol asks its driver to do. The driver owns the array; the protocol only
// appends to it. An action for a peer that has left since is void.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace be::core {

struct Action {
    enum Kind : uint8_t {
        /* Answer the peer's REQUEST: Notice::grant on the bulk queue pair, with the low 28
         * bits of Flow::granted() when posting, and the cell if the driver likes; then call
         * Flow::told(). value: the messages total at this moment. */
        answer_request,

        /* Write the peer's credit cell (plain RDMA WRITE, 8 bytes). May be put off to the
         * end of a batch of completions, and dropped if Flow::cell_due() has become false
         * because a header carried the total in the meantime. Call Flow::told() when
         * posted. value: the messages total at this moment. */
        write_cell,

        /* Send Notice::request on the bulk queue pair. value: the demand total (encode()
         * cuts it to 28 bits). */
        send_request,

        /* Post this many more receives, beyond those that arrivals use up, and report
         * them with Flow::reposted(). Failing to is harmless: the peers in question do
         * without a floor. */
        post_receives,

        /* A peer that was reported as blocked has credit again: send what is queued. */
        resume,

        /* Send headers of kind `credit` to the peer, each admitted and stamped like any
         * message, while nothing else is queued for it. value: how many at most; it
         * replaces an earlier value. They give back credit that was asked for by messages
         * which were cancelled: somebody else may be waiting for it. */
        return_credit,

        /* Send Notice::byte_request. value: the byte demand total. */
        send_byte_request,

        /* Send Notice::revoke or byte_revoke: the peer is idle and others are short.
         * value: what it may keep. */
        send_revoke,
        send_byte_revoke,

        /* Send Notice::give_back or byte_return. value: the total. */
        send_return,
        send_byte_return,

        /* Send Notice::wake. value: the byte total that we know of. */
        send_wake,

        /* Send Notice::woken, beside the cell. value: the byte total. */
        send_woken,

        /* More of bulk may go: call Flow::next_bulk(). peer: no_peer. */
        pump_bulk,

        /* The peer holds byte credit, was silent for long, and others are in want: give
         * up its connection, as if it had broken; if it lives it connects again. */
        suspect
    };

    Kind kind;
    uint32_t peer; /* no_peer for post_receives and pump_bulk */
    uint32_t value;

    bool operator==(const Action &) const = default;
};

inline constexpr uint32_t no_peer = ~uint32_t{0};

/* Bounded append-only view of the driver's array. Whoever fills it checks full() first
 * and keeps the rest. */
class Actions {
public:
    explicit Actions(std::span<Action> storage) : m_storage(storage)
    {
    }

    bool full() const
    {
        return m_size == m_storage.size();
    }

    /* Returns false, and stores nothing, when the array is full. */
    bool push(const Action &action)
    {
        if (full()) {
            return false;
        }
        m_storage[m_size++] = action;
        return true;
    }

    void clear()
    {
        m_size = 0;
    }

    std::size_t size() const
    {
        return m_size;
    }

    const Action *begin() const
    {
        return m_storage.data();
    }

    const Action *end() const
    {
        return m_storage.data() + m_size;
    }

private:
    std::span<Action> m_storage;
    std::size_t m_size = 0;
};

} // namespace be::core
