// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's side of message credit: shares the receives of one queue (an SRQ) among
// all peers.
//
// Terms, all counted in messages, i.e. receives:
//   G, A    granted to a peer and arrived from it, totals;  O = G - A  is its outstanding
//   grant D       its demand total: the highest REQUEST, i.e. used + queued at the sender
//   floor   the standing minimum of a peer: 2, then 1, then 0 as peers get many
//   S       its standing grant: G - max(A, D), at least 0: what it holds without having
//   asked for it posted  receives that are posted now;  in hand: arrived and not posted
//   again yet C       real capacity = posted + in hand reserve a quarter of the initial
//   capacity, at least 1: never given to standing grants
//
// Rules
//   1. sum O <= posted, always; each grant checks it.
//   2. sum max(O, floor) <= C for each grant beyond a floor: whoever holds a floor gets
//   it back as receives
//      are posted again.
//   3. sum max(S, floor) <= C - reserve: floors and shares leave room for requests.
//   Floors alone stay within half
//      of the initial capacity plus growth (one receive for each further peer, up to
//      max_capacity).
//   4. An active peer is topped up to its share = clamp(C/2 / active peers, floor,
//   share_cap) out of what
//      rules 1 to 3 leave, while nobody waits, and all shares beyond floors stay within
//      half the initial capacity.
//   5. A REQUEST is granted min(quantum, D - G, what rules 1 and 2 leave) and answered,
//   or waits in FIFO order. A
//      waiting peer is answered once, when something is granted to it by its turn or when
//      G has reached D.
//   6. While requests wait, nothing is granted but floors and the turn of the first;
//   these two alternate. A floor
//      overtakes freely only if the first is held up by rule 2, which a floor does not
//      touch.
//
// No receiver-not-ready NAK. A SEND needs a credit, so those in flight or arrived number
// used - A <= G - A for each peer, since the sender's total is a copy of an earlier G and
// totals never decrease. Their sum is at most sum O, which rule 1 keeps within the posted
// receives. An arrival takes one off both sides; posting adds to the right. A peer that
// leaves gives its O back only after its queue pair can deliver nothing any more.
//
// No deadlock. Telling credit costs none: cell, REQUEST and answer are one-sided writes
// or travel on the bulk queue pair, whose receives are reserved. Assume (a) the driver
// posts a receive again, or a replacement, some time after each arrival, and (b) senders
// use credit they asked for, or return it when the messages are cancelled (header kind
// `credit`), or die and leave. Suppose a request waits for ever at the head. By rule 6
// nothing is granted but floors; those peers that asked use what they got, so after a
// while A >= D wherever something is outstanding: all O are standing, and sum max(O,
// floor) <= C - reserve by rule 3. That satisfies rule 2 for the head, after which floors
// no longer overtake beyond one at a time; receives in hand are posted, so posted comes
// within `reserve` of what is outstanding with at least one to spare, and the head is
// served: a contradiction. The same holds for the next head, so every request is
// answered, and every answer brings at least one message (or tells of one that was
// granted already). A grant that the peer does not know about is told by a cell as soon
// as the peer may have run out (cell_due), so no sender waits on credit it has.
//
// Standing credit of idle peers is not called back: they keep at most half the initial
// capacity (rule 4), which costs others speed, not progress. A peer is trusted to be
// honest, not to be correct: more arrivals than were granted are detected, the totals
// stay sane, and on_arrival() says so.
//
// Byte credit will be a second resource with the same totals and the same queue of
// waiting requests.
//
// Not thread safe; the owner serialises calls. Everything is O(1), amortised over
// arrivals; only join() allocates.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/index_list.hpp"
#include "core/serial.hpp"

namespace be::core {

struct ReceivePoolConfig {
    uint32_t capacity =
            4096; /* receives the driver has posted when the pool starts, >= 1 */
    uint32_t max_capacity = 8192; /* growth for floors of further peers stops here */
    uint32_t floor =
            2; /* standing minimum of a peer in messages, 0 to 3 (two bits in the cell) */
    uint32_t quantum     = 64; /* most messages granted by one request, >= 1 */
    uint32_t share_cap   = 512; /* most messages standing for one active peer, >= floor */
    uint32_t max_peers   = 65536; /* join() fails beyond */
    uint32_t first_total = 0; /* where all totals start; the same on both ends. Not 0 only
                                 to test wrapping. */
};

class ReceivePool {
public:
    static constexpr uint32_t none = IndexList::none;

    /* Throws std::invalid_argument that names the field, its value and what is accepted. */
    explicit ReceivePool(const ReceivePoolConfig &config);

    /* A new peer; its index is dense and may be one that a peer left. Empty when
     * max_peers are in. Its floor is granted at once when receives are free; when growth
     * is needed first, take_growth() tells of it and on_repost() grants the floor. */
    std::optional<uint32_t> join();

    /* The peer is gone and none of its messages can arrive any more: call it only after
     * its queue pair is in error or destroyed and its completions were polled. All it
     * held is free at once. */
    void leave(uint32_t peer);

    bool member(uint32_t peer) const
    {
        return (peer < m_peers.size()) && m_peers[peer].member;
    }

    /* A message of this peer used up a posted receive. False when the peer had no grant
     * left (it broke the protocol, or has left): the receive is counted as used up and
     * nothing else changes. */
    bool on_arrival(uint32_t peer);

    /* `count` receives were posted: again, or as growth. */
    void on_repost(uint32_t count);

    /* REQUEST with the full demand total. */
    void on_request(uint32_t peer, uint32_t demand);

    /* The peer is being told the present total by a header, a cell or the handshake. */
    void told(uint32_t peer)
    {
        told(peer, m_peers[peer].granted);
    }

    void told(uint32_t peer, uint32_t total);

    /* Should the peer be told by a cell? True when it holds more than it knows, and
     * either half its share (2 at least) is unknown to it, or it may have no more than a
     * quarter of its share left. */
    bool cell_due(uint32_t peer) const;

    /* Start of another activity period. Peers with an arrival in this period or the one
     * before count as active. */
    void new_period();

    /* Outputs, for the driver to collect after any of the above. */
    bool has_output() const
    {
        return !m_answers.empty() || !m_cells.empty() || (m_growth_due != 0);
    }
    uint32_t next_answer(); /* a peer whose request is to be answered now; `none` */
    uint32_t
    next_cell(); /* a peer for which cell_due() holds, once until told(); `none` */
    uint32_t take_growth(); /* further receives to post; 0 */

    /* Cumulative grant of this peer, for headers, cell and handshake. */
    uint32_t granted(uint32_t peer) const
    {
        return m_peers[peer].granted;
    }

    uint32_t arrived(uint32_t peer) const
    {
        return m_peers[peer].arrived;
    }

    uint32_t floor(uint32_t peer) const
    {
        return m_peers[peer].floor;
    }

    /* Does a request of this peer wait for receives? */
    bool waiting(uint32_t peer) const
    {
        return m_parked.contains(peer);
    }

    uint32_t posted() const
    {
        return m_posted;
    }

    /* Receives that should exist: posted, in hand, and growth that is still to be posted.
     */
    uint32_t capacity() const
    {
        return real_capacity() + m_growth_due + m_growth_asked;
    }

    /* Sum of G - A. */
    uint32_t outstanding() const
    {
        return m_outstanding;
    }

    uint32_t active_peers() const
    {
        return m_active_last + m_active_now;
    }

    /* Messages that an active peer is kept topped up to. */
    uint32_t share() const
    {
        return m_share;
    }

    /* Recomputes every total from the peers, O(peers). The first broken invariant in
     * words, or empty. */
    std::string check() const;

private:
    struct Peer {
        uint32_t granted = 0;
        uint32_t arrived = 0;
        uint32_t demand  = 0;
        uint32_t told    = 0;
        uint32_t period  = 0; /* latest period with an arrival */
        uint8_t floor    = 0;
        bool member      = false;
        bool answer_owed =
                false; /* a request is waiting or its answer is not collected yet */
        bool cell_asked = false; /* next_cell() returned it and nothing was told since */
    };

    uint32_t real_capacity() const
    {
        return m_posted + m_in_hand;
    }

    static uint32_t outstanding_of(const Peer &peer)
    {
        return peer.granted - peer.arrived;
    }

    static uint32_t standing_of(const Peer &peer);
    static uint32_t floor_gap(const Peer &peer);

    template<class Change>
    void account(Peer &peer, Change &&change);
    void grant(uint32_t index, uint32_t count);
    void after_grant(uint32_t index);
    void answer(uint32_t index);
    bool assign_floor(uint32_t index);
    void assign_floors();
    uint32_t request_allowance(const Peer &peer) const;
    uint32_t share_allowance(const Peer &peer) const;
    void touch(Peer &peer);
    void update_share();
    void serve();
    bool serve_floor();
    bool serve_request();
    void serve_shares();
    void note_cell(uint32_t index);

    ReceivePoolConfig m_config;
    std::vector<Peer> m_peers;
    std::vector<uint32_t> m_unused; /* indices that peers have left */
    uint32_t m_members = 0;

    uint32_t m_posted       = 0;
    uint32_t m_in_hand      = 0;
    uint32_t m_growth_due   = 0; /* wanted, not reported yet */
    uint32_t m_growth_asked = 0; /* reported, not posted yet */

    uint32_t m_outstanding = 0; /* sum O */
    uint32_t m_reserved    = 0; /* sum max(O, floor) */
    uint32_t m_standing    = 0; /* sum max(S, floor) */
    uint32_t m_floors      = 0; /* sum floor */

    uint32_t m_period      = 1;
    uint32_t m_active_now  = 0; /* peers seen in this period */
    uint32_t m_active_last = 0; /* peers seen in the one before and not in this */
    uint32_t m_share       = 0;

    IndexList m_parked; /* requests that wait */
    IndexList m_low; /* below their floor, for want of posted receives */
    IndexList m_short; /* below their share, when they last sent something */
    IndexList m_floorless; /* without a floor */
    IndexList m_answers; /* output */
    IndexList m_cells; /* output */
    bool m_floor_turn = true;
};

} // namespace be::core
