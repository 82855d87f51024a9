// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's side of message credit: shares the receives of one queue (an SRQ) among
// all peers.
//
// Terms, all counted in messages, i.e. receives
//   G, A     granted to a peer and arrived from it, totals; O = G - A is outstanding
//   D        how far the peer has asked: used + queued at its latest REQUEST; once that
//            is answered, not beyond what G was then; never behind A
//   floor    the standing minimum of a peer: 2, then 1, then 0 as peers get many
//   S        its standing grant, max(0, G - D): what it holds without having asked
//   posted   receives that are posted now; in hand: used up and not posted again yet
//   C        posted + in hand: the capacity that is really there
//   C0       the capacity at the start; reserve = C0/4, at least 1
//
// Rules
//   1. sum O <= posted. Every grant checks it.
//   2. sum max(O, floor) <= C. Restoring a floor does not change this sum, so whoever has
//      a floor gets it back as receives are posted again.
//   3. sum max(S, floor) <= C - reserve: what stands leaves room for requests. Floors
//      alone stay within C0/2 plus growth: one receive for each further peer, until
//      max_capacity. Shares beyond floors stay within C0/2.
//   4. A peer that sends is topped up to its share = clamp(C/2 / active peers, floor,
//      share_cap) from what rules 1 to 3 leave, while nobody waits for anything.
//   5. A REQUEST is granted min(quantum, D - G, what rules 1 and 2 leave), or it waits in
//      arrival order. It is answered once: when its turn grants something, or when G has
//      reached D otherwise.
//   6. While a request waits, only floors and the first request are served, one of each
//      in turn; floors alone if rule 2 leaves nothing for the first request. New floors
//      are given out only if rule 2 leaves something beyond them.
//
// No receiver-not-ready NAK. A SEND takes a credit from a copy of an earlier G, and
// totals never decrease, so the SENDs of a peer that have not arrived number at most O.
// Over all peers that is at most the posted receives (rule 1). An arrival takes one off
// both sides, and posting only adds. A peer that leaves gives back its O only after its
// queue pair can deliver nothing more.
//
// No deadlock. Telling credit costs none: cells and answers are one-sided writes, a
// REQUEST travels on the bulk queue pair, whose receives are reserved. Assume that (a)
// the driver posts a receive, the same or another, some time after each arrival; (b) a
// sender uses the credit it asked for, or returns it when the messages are cancelled
// (header kind `credit`), or dies and leaves. Then the first waiting request is served:
//   - Rule 2 comes to leave something for it. max(O, floor) <= max(S, floor) + (O - S),
//     and O - S is credit that was asked for. While the request waits and rule 2 leaves
//     nothing, no such credit is given out except within floors, and what there is gets
//     used by (b). So the sum falls to C - reserve at most (rule 3), which leaves
//     `reserve` >= 1. From then on nothing but this request raises it to C (rule 6).
//   - Rule 1 comes to leave something for it. If sum O = posted while rule 2 leaves
//     something, then sum O < C = posted + in hand, so a receive is in hand, which (a)
//     posts. It goes to a floor at most once before it goes to the request (rule 6).
// So each request in turn is answered, with at least one message more than the sender had
// used when it asked. Whatever is granted otherwise is told by a cell as soon as the peer
// may have run out of what it knows (cell_due), so no sender waits on credit it has.
//
// Most arrivals leave the peer with plenty, and nobody waits: note_arrival() only counts
// them. What follows from them (rules 1 to 4 see less outstanding) is looked after once
// an eighth of a share has come, or when somebody asks for something, or waits. Until
// then the sums are higher than what is outstanding, which only makes grants smaller; a
// peer that knows of no more than a quarter of its share is always looked after before it
// runs out.
//
//   7. When somebody waits, or lacks its share, standing credit beyond floors of the
//      longest idle peers, and what active ones hold well beyond their share, is called
//      back (REVOKE), if so configured; peers then have
//      their share from the start. No progress depends on it: rule 3 bounds what stands.
//      What a peer asked for is called back only when it left that lying for a whole
//      period: who has just been served would else give it back to the next, and none
//      would ever send.
//
// Peers are trusted to be honest, not to be correct: more arrivals
// than were granted are detected, and the totals stay sane.
//
// Bytes are another resource, with a pool of its own: byte_pool.hpp.
//
// Not thread safe; the owner serialises calls. Every call is O(1), amortised over
// arrivals; only join() allocates.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/grant_totals.hpp"
#include "core/index_list.hpp"

namespace be::core {

struct ReceivePoolConfig {
    uint32_t capacity     = 4096; /* receives posted when the pool starts, >= 1 */
    uint32_t max_capacity = 8192; /* growth for further floors stops here, <= 2^24 */
    uint32_t floor        = 2; /* standing minimum of a peer, 0 to 3 messages */
    uint32_t quantum      = 64; /* most messages granted by one request, >= 1 */
    uint32_t share_cap    = 512; /* most messages standing for one peer, >= floor */
    uint32_t max_peers    = 65536; /* join() fails beyond, >= 1 */
    bool revoke           = false; /* rule 7; then a peer has its share from the start */
    uint32_t first_total  = 0; /* start of all totals, the same on both ends; other
                                      than 0 only in tests of wrap-around */
};

class ReceivePool {
public:
    static constexpr uint32_t none = IndexList::none;

    /* Throws std::invalid_argument: the field, its value and what is accepted. */
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

    /* The same for one of many that change nothing but a count, which is all that this
     * does. False: nothing was done, call on_arrival(). */
    bool note_arrival(uint32_t index)
    {
        if (index >= m_peers.size()) {
            return false;
        }

        Peer &peer = m_peers[index];

        if ((peer.easy == 0) || (peer.period != m_period) || m_pressing ||
            (m_posted == 0)) {
            return false;
        }
        --peer.easy;
        if (peer.noted++ == 0) {
            m_noted_peers.push_back(index);
        }
        ++m_noted;
        --m_posted;
        ++m_in_hand;
        return true;
    }

    /* `count` receives were posted: again, or as growth. */
    void on_repost(uint32_t count);

    /* REQUEST with the full demand total. */
    void on_request(uint32_t peer, uint32_t demand);

    /* The peer's path is replaced: a request that waits, or an answer that was not
     * collected, is void; the peer asks again. What was granted and never told is taken
     * back: nobody would use it. */
    void forget_request(uint32_t peer);

    /* Total that the peer has given back, the answer to a revoke. False, and nothing
     * changed but that it may be asked again, when it does not hold as much. */
    bool on_returned(uint32_t peer, uint32_t total);

    uint32_t kept(uint32_t peer) const
    {
        return m_peers[peer].keep;
    }

    uint32_t given_back(uint32_t peer) const
    {
        return m_peers[peer].returned;
    }

    /* The peer is being told the present total by a header, a cell or the handshake. */
    void told(uint32_t peer)
    {
        m_peers[peer].told       = m_peers[peer].granted;
        m_peers[peer].cell_asked = false;
    }

    /* As above, with an earlier total. One that was never granted changes nothing. */
    void told(uint32_t peer, uint32_t total);

    /* Should the peer be told by a cell? True when it holds more than it knows, and
     * either half its share (2 at least) is unknown to it, or it may have no more than a
     * quarter of its share left. */
    bool cell_due(uint32_t peer) const;

    /* next_cell() returned the peer and nothing was told to it since: the cell is to be
     * written, even if cell_due() has changed its mind because the share has. */
    bool cell_asked(uint32_t peer) const
    {
        return m_peers[peer].cell_asked;
    }

    /* Start of another activity period. Peers with an arrival in this period or the one
     * before count as active. */
    void new_period();

    /* Outputs, for the driver to collect after any of the above. */
    bool has_output() const
    {
        return !m_answers.empty() || !m_cells.empty() || (m_growth_due != 0) ||
               !m_revokes.empty();
    }

    /* A peer whose request is to be answered now; `none`. */
    uint32_t next_answer();

    /* A peer for which cell_due() holds, once until told(); `none`. */
    uint32_t next_cell();

    /* A peer that is to give back all but kept(); `none`. */
    uint32_t next_revoke()
    {
        return m_revokes.pop_front();
    }

    /* Further receives to post; 0. */
    uint32_t take_growth();

    /* Cumulative grant of this peer, for headers, cell and handshake. */
    uint32_t granted(uint32_t peer) const
    {
        return m_peers[peer].granted;
    }

    uint32_t arrived(uint32_t peer) const
    {
        return m_peers[peer].arrived + m_peers[peer].noted;
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

    /* Receives that should exist: posted, in hand, and growth still to be posted. */
    uint32_t capacity() const
    {
        return real_capacity() + m_growth_due + m_growth_asked;
    }

    /* Sum of G - A. */
    uint32_t outstanding() const
    {
        return m_outstanding - m_noted;
    }

    uint32_t active_peers() const
    {
        return m_active_last + m_active_now;
    }

    /* Does somebody wait for receives? */
    bool pressing() const
    {
        return m_pressing;
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
    struct Peer : GrantTotals {
        uint8_t floor   = 0;
        bool cell_asked = false; /* next_cell() returned it, nothing was told since */
        uint32_t noted  = 0; /* arrivals counted in nothing else yet */
        uint32_t easy   = 0; /* further ones that may be just noted */
        uint64_t period = 0; /* latest period with an arrival */
        uint64_t served = 0; /* latest period with an answer, or a revoke refused */
    };

    uint32_t real_capacity() const
    {
        return m_posted + m_in_hand;
    }

    static uint32_t floor_gap(const Peer &peer);
    uint32_t share_of(const Peer &peer) const;

    /* Receives that a grant may take by rules 1; 1 and 2; 1, 2, 3 and 4. */
    uint32_t free_posted() const;
    uint32_t request_allowance(const Peer &peer) const;
    uint32_t share_allowance(const Peer &peer) const;

    template<class Change>
    void account(Peer &peer, Change &&change);
    void grant(uint32_t index, uint32_t count);
    void answer(uint32_t index);
    void note_cell(uint32_t index);
    void take_in(uint32_t index);
    void take_in_all();

    bool floor_fits(const Peer &peer, uint32_t floor) const;
    bool assign_floor(uint32_t index);
    void assign_floors();
    uint32_t next_floor() const;

    void touch(Peer &peer);
    bool recent(uint64_t period) const
    {
        return period + 1 >= m_period;
    }

    void may_hold(uint32_t index);
    void update_share();

    void serve();
    void serve_floor(uint32_t index);
    void serve_request(uint32_t index);
    void serve_shares();
    bool serve_share(uint32_t index);
    void reclaim();

    ReceivePoolConfig m_config;
    std::vector<Peer> m_peers;
    std::vector<uint32_t> m_unused; /* indices that peers have left */

    uint32_t m_posted       = 0;
    uint32_t m_in_hand      = 0;
    uint32_t m_growth_due   = 0; /* wanted, not reported yet */
    uint32_t m_growth_asked = 0; /* reported, not posted yet */
    uint32_t m_reserve      = 0;

    uint32_t m_outstanding = 0; /* sum O */
    uint32_t m_reserved    = 0; /* sum max(O, floor) */
    uint32_t m_standing    = 0; /* sum max(S, floor) */
    uint32_t m_floors      = 0; /* sum floor */

    uint64_t m_period      = 2; /* 0 is never "this or the one before" */
    uint32_t m_active_now  = 0; /* peers seen in this period */
    uint32_t m_active_last = 0; /* peers seen in the one before and not in this */
    uint32_t m_share       = 0;

    uint32_t m_noted = 0; /* sum of Peer::noted */
    bool m_pressing  = false; /* somebody waits for something */

    IndexList m_noted_peers;
    IndexList m_parked; /* requests that wait */
    IndexList m_low; /* below their floor, for want of posted receives */
    IndexList m_short; /* were below their share when they last sent something */
    IndexList m_floorless; /* members without a floor, which would like one */
    IndexList m_answers; /* output */
    IndexList m_cells; /* output */
    IndexList m_holders; /* may hold more than their floor; the longest silent first */
    IndexList m_revokes; /* output */
    uint32_t m_revoking = 0;
    bool m_floor_turn   = true; /* who is next when both a floor and a request wait */
};

} // namespace be::core
