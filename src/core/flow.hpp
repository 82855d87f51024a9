// SPDX-License-Identifier: BSD-3-Clause
//
// The protocol of one fabric as a deterministic reducer: (event, now) -> actions.
//
// A Flow holds everything that the two directions of every peer need: the receive pool
// that grants credit, the account of credit granted to us, sequence numbers, and the
// windows and the scheduler of bulk. It does no I/O and reads no clock: the driver (the
// engine, or a simulator) reports what happened with the time in nanoseconds, and
// executes the actions it is handed. Two Flows fed the same events do the same.
//
// Actions go into an array that the driver owns. What does not fit stays inside and comes
// with the next event or with drain(); nothing is lost. After an event the driver
// executes the actions in order. A write_cell may be put off and then checked with
// cell_due().
//
// With byte credit (FlowConfig::bytes) a message longer than small_message needs that
// beside a message credit, and so does each piece of a write; a read takes of our own
// pool. A large message first waits for bytes, then for a message: those that wait for
// bytes hold no message credit that they asked for, so the two never wait for each other;
// and once it was asked for, writes leave them the bytes.
//
// A connection, as seen by one end:
//   p = join(now); drain(a): post_receives, if any; post them; reposted(n, now, a)
//   tell the peer granted(p) in the handshake, then told(p); credit_update(p, the peer's
//   total, now, a) sending:   admit_message(p) ? stamp(p, header), post : queue it;
//   blocked(p, number queued, now, a) receiving: arrival(p, header.granted, header.seq,
//   now, a); post the receive again, later; reposted(n, now, a) the cell changed:
//   credit_update();  Notice::grant: answered();  Notice::request: request() leave(p,
//   now, a) when nothing of the peer can arrive any more
//
// Peers are dense indices, which are used again after leave(). An event of an index that
// is not joined changes nothing, except that arrival() counts the receive as used up.
//
// Not thread safe; the owner serialises calls. Events are O(1), amortised; only join()
// allocates. No hot-path call throws; the constructor throws std::invalid_argument on a
// bad configuration.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/action.hpp"
#include "core/flow_peer.hpp"
#include "core/flow_stats.hpp"
#include "core/flow_types.hpp"
#include "core/index_list.hpp"
#include "core/position.hpp"
#include "core/scheduler.hpp"
#include "core/wire.hpp"

namespace be::core {

class Flow {
public:
    explicit Flow(const FlowConfig &config);

    /* --- peers --- */

    /* Empty when there is no room for another peer. Actions (growth): call drain(). */
    std::optional<uint32_t> join(uint64_t now_ns);

    /* See ReceivePool::leave() for when. Bulk of the peer, queued or outstanding, is
     * forgotten. */
    void leave(uint32_t peer, uint64_t now_ns, Actions &actions);

    bool member(uint32_t peer) const
    {
        return m_pool.member(peer);
    }

    /* --- sending messages; the two calls without `now` are the hot path --- */

    /* Take one credit for one message. False when there is none: queue the message and
     * report blocked(). */
    bool admit_message(uint32_t peer)
    {
        return m_peers[peer].account.take();
    }

    /* The same for a message of `bytes`: takes byte credit and room in the windows too if
     * it is large. When it completes, report bulk_done() with charge(bytes). */
    bool admit_message(uint32_t peer, uint32_t bytes);

    /* A message that was admitted by admit_message(peer) turns out to be of `bytes`: takes
     * what else a large one needs. False: nothing was taken, the message credit is still
     * held. */
    bool admit_bytes(uint32_t peer, uint32_t bytes);

    /* Is a message of so many bytes large? */
    bool large(uint64_t bytes) const
    {
        return m_bytes.enabled() && (bytes > m_config.small_message);
    }

    /* The message last admitted will not be posted after all. Only before stamp(). */
    void revert_message(uint32_t peer)
    {
        m_peers[peer].account.untake();
    }

    /* Number the admitted message and tell the peer our grant with it: fills seq and
     * granted. Call it right before posting, in the order of posting. */
    void stamp(uint32_t peer, DataHeader &header)
    {
        header.seq     = m_peers[peer].sent.take();
        header.granted = m_pool.granted(peer);
        m_pool.told(peer);
    }

    /* Everything before sequence number `upto` has arrived at the peer. Returns how many
     * are new. */
    uint32_t acknowledged(uint32_t peer, uint32_t upto)
    {
        return m_peers[peer].sent.acknowledge(upto);
    }

    /* Messages that may be sent now. */
    uint32_t available(uint32_t peer) const
    {
        return m_peers[peer].account.available();
    }

    /* `queued` messages (>= 1) wait for credit. Asks the peer unless it has been asked;
     * resume follows when credit comes. Calling it again with another number is fine. */
    void blocked(uint32_t peer, uint32_t queued, uint64_t now_ns, Actions &actions);

    /* The same with byte credit. */
    void
    blocked(uint32_t peer, const Waiting &waiting, uint64_t now_ns, Actions &actions);

    /* Queued messages were cancelled; `queued` are left. Credit that had been asked for
     * them goes back with return_credit, now or from a later answered() or tick(). */
    void cancelled(uint32_t peer, uint32_t queued, uint64_t now_ns, Actions &actions);

    /* --- credit from the peer: return true when it grew --- */

    /* The peer's messages total from its cell or the handshake. */
    bool credit_update(uint32_t peer, uint32_t total, uint64_t now_ns, Actions &actions);

    /* The peer's cell, both totals. */
    bool credit_update(uint32_t peer, const CreditCell &cell, uint64_t now_ns,
                       Actions &actions);

    /* Notice::revoke or byte_revoke came: what is not needed goes back. */
    void revoked(uint32_t peer, uint32_t keep, uint64_t now_ns, Actions &actions);
    void bytes_revoked(uint32_t peer, uint32_t keep, uint64_t now_ns, Actions &actions);

    /* Notice::grant came: our request is answered. total: from the cell, or its 28 bits
     * widened around a total that was told before. */
    bool answered(uint32_t peer, uint32_t total, uint64_t now_ns, Actions &actions);

    /* --- sleep, with byte credit: a cell is silent --- */

    /* The driver goes to sleep: whoever owes us bytes that something waits for is asked
     * to wake us. */
    void sleep(uint64_t now_ns, Actions &actions);

    /* Notice::wake came: the peer sleeps, and knows of this byte total. */
    void wake(uint32_t peer, uint32_t total28, uint64_t now_ns, Actions &actions);

    /* Notice::woken came, with the byte total of the peer. True when it grew. */
    bool woken(uint32_t peer, uint32_t total28, uint64_t now_ns, Actions &actions);

    /* Does something take bytes of this peer's? Then its cell is worth a look. */
    bool waits_for_bytes(uint32_t peer) const
    {
        return m_byte_waits.contains(peer);
    }

    /* How many peers are like that, and the next of them in turn. */
    uint32_t byte_waits() const
    {
        return m_byte_waits.size();
    }

    uint32_t next_byte_wait()
    {
        uint32_t peer = m_byte_waits.pop_front();

        if (peer != IndexList::none) {
            m_byte_waits.push_back(peer);
        }
        return peer;
    }

    /* --- receiving messages --- */

    /* arrival() of what most messages are: within their credit, in order, and nobody waits
     * for the credit that comes with them. There are no actions. False: nothing was done,
     * call arrival(). */
    [[gnu::always_inline]] bool
    note_arrival(uint32_t index, uint32_t granted, uint32_t seq, uint64_t now_ns)
    {
        if ((index >= m_peers.size()) ||
            (now_ns - m_period_start_ns >= m_config.active_ns)) {
            return false;
        }

        Peer &peer = m_peers[index];

        if ((peer.credit_stall_ns != not_stalled) || (seq != peer.received.expected()) ||
            !m_pool.note_arrival(index)) {
            return false;
        }
        if (granted != peer.account.granted()) {
            (void)peer.account.update(granted);
        }
        (void)peer.received.accept(seq);
        ++peer.counters.messages_received;
        return true;
    }

    /* A message arrived with this header. It used up a receive, whatever the verdict. */
    Verdict arrival(uint32_t peer, uint32_t granted, uint32_t seq, uint64_t now_ns,
                    Actions &actions)
    {
        if (!note_arrival(peer, granted, seq, now_ns)) [[unlikely]] {
            return take_arrival(peer, granted, seq, now_ns, actions);
        }
        return Verdict::in_order;
    }

    /* A receive was used up by something that is no message: its header could not be read,
     * it completed in error, or it came from nobody (no_peer). Break the connection. */
    void arrival_unreadable(uint32_t peer, uint64_t now_ns, Actions &actions);

    /* A receive came back empty because its path failed under a message. That has not arrived, and comes again with
     * the credit that it has. Post a receive in its place before the path is replaced. */
    void receive_failed(uint64_t now_ns, Actions &actions);

    /* `count` receives were posted. */
    void reposted(uint32_t count, uint64_t now_ns, Actions &actions);

    /* Notice::request came with these 28 bits. */
    void request(uint32_t peer, uint32_t demand28, uint64_t now_ns, Actions &actions);

    /* Bytes of bulk came: a large message's or, with its Notice::bulk, a write's. False:
     * the peer had no credit for them; break the connection. */
    bool bytes_arrived(uint32_t peer, uint32_t bytes, uint64_t now_ns, Actions &actions);

    /* The 28 bits of Notice::bulk or byte_request; with `bulk` before bytes_arrived(). */
    void
    byte_request(uint32_t peer, uint32_t demand28, uint64_t now_ns, Actions &actions);

    /* Notice::give_back or byte_return came with these 28 bits. False: nonsense, break
     * the connection. */
    bool given_back(uint32_t peer, uint32_t total28, uint64_t now_ns, Actions &actions);
    bool
    bytes_given_back(uint32_t peer, uint32_t total28, uint64_t now_ns, Actions &actions);

    /* --- telling credit to the peer --- */

    /* Our messages total for the peer: for the handshake. */
    uint32_t granted(uint32_t peer) const
    {
        return m_pool.granted(peer);
    }

    /* The peer's cell as it should be written now. */
    CreditCell cell(uint32_t peer) const
    {
        return {.messages   = m_pool.granted(peer),
                .byte_units = m_bytes.enabled() ? m_bytes.granted(writes_of(peer)) : 0,
                .floor      = static_cast<uint8_t>(m_pool.floor(peer))};
    }

    /* The cell, to be written now: both totals count as told. */
    CreditCell take_cell(uint32_t peer)
    {
        m_pool.told(peer);
        if (m_bytes.enabled()) {
            m_bytes.told(writes_of(peer));
        }
        return cell(peer);
    }

    /* The present messages total is on its way to the peer in an answer or the handshake
     * (stamp() and take_cell() do this by themselves). No other event between reading it and this call. */
    void told(uint32_t peer)
    {
        m_pool.told(peer);
    }

    /* Is a write_cell for this peer still to be executed? False once a header, a cell or
     * an answer has told it. */
    bool cell_due(uint32_t peer) const
    {
        return m_pool.cell_asked(peer) ||
               (m_bytes.enabled() && m_bytes.untold(writes_of(peer)));
    }

    /* --- bulk --- */

    /* What an operation of `bytes` counts as in all calls below: with byte credit whole
     * units, and never nothing. */
    uint64_t charge(uint64_t bytes) const
    {
        uint64_t unit = m_bytes.enabled() ? m_config.bytes.unit : 1;

        return (bytes == 0) ? unit : (bytes + unit - 1) / unit * unit;
    }

    /* `bytes` more of bulk wait for this peer. Without byte credit the kind does not
     * matter. */
    void bulk_queued(uint32_t peer, uint64_t bytes, BulkKind kind = BulkKind::write);

    /* The same where byte credit may be asked for. */
    void bulk_queued(uint32_t peer, uint64_t bytes, BulkKind kind, uint64_t now_ns,
                     Actions &actions);

    /* Queued bulk was cancelled. */
    void bulk_cancelled(uint32_t peer, uint64_t bytes, BulkKind kind = BulkKind::write);

    /* The next piece to post: at most a quantum; it counts as outstanding from now on.
     * Call until it is empty, then drain(). */
    BulkGrant next_bulk(uint64_t now_ns);

    /* The notice that a piece of a write carries; call it right before posting. */
    Notice stamp_bulk(uint32_t peer);

    /* A small write that nothing waits before goes at once, with its own stamp_bulk() and
     * bulk_done(charge(bytes)). False: queue it. Only with byte credit. */
    bool admit_write(uint32_t peer, uint32_t bytes);

    /* What was granted by next_bulk() will not be posted: the credit goes back. */
    void bulk_reverted(uint32_t peer, uint64_t bytes, BulkKind kind, uint64_t now_ns,
                       Actions &actions);

    /* Queued and not granted, bytes. */
    uint64_t bulk_waiting(uint32_t peer, BulkKind kind) const
    {
        return m_peers[peer].bulk_queued[static_cast<unsigned>(kind)];
    }

    /* A posted piece is complete. Follow with next_bulk() and drain(). */
    void bulk_done(uint32_t peer, uint64_t bytes);

    /* The data of a piece that was read has arrived. Follow with next_bulk(). */
    void read_done(uint32_t peer, uint64_t bytes, uint64_t now_ns, Actions &actions);

    /* --- the path to a peer is replaced: nothing of the old one arrives any more --- */

    /* Messages that have arrived from it, over all paths. */
    uint64_t arrived(uint32_t peer) const
    {
        return m_peers[peer].counters.messages_received;
    }

    /* Where this end stands; the grants in it count as told. `writes` is the driver's. */
    Position position(uint32_t peer);

    /* Where the peer stands. What was asked and not answered is asked again; requests of
     * the peer's, which it repeats, are forgotten. False: nonsense, give it up. */
    bool
    reposition(uint32_t peer, const Position &theirs, uint64_t now_ns, Actions &actions);

    /* --- time --- */

    /* Call about every active_ns while there is traffic, and while tick_needed(). Looks
     * after credit of cancelled messages. A request that is not answered is not repeated:
     * a reliable queue pair that lives delivers it, and its answer needs no credit;
     * reposition() is the place of repetition. */
    void tick(uint64_t now_ns, Actions &actions);

    /* Is there something that only tick() will do? */
    bool tick_needed() const
    {
        return !m_owing.empty() || (m_bytes.enabled() && (tick_due_ns() != ~uint64_t{0}));
    }

    /* When byte credit wants tick() next, ~0: no need. */
    uint64_t tick_due_ns() const
    {
        return m_bytes.due_ns();
    }

    /* Hand out actions that did not fit before. */
    void drain(Actions &actions);

    /* --- looking in; not for the hot path --- */

    PeerStats stats(uint32_t peer) const;
    FlowStats stats() const;

    uint32_t max_peers() const
    {
        return m_config.pool.max_peers;
    }

    const ReceivePool &pool() const
    {
        return m_pool;
    }

    const BytePool &bytes() const
    {
        return m_bytes;
    }

    /* The first broken invariant in words, or empty. O(peers). */
    std::string check() const;

private:
    using Peer                            = FlowPeer;
    static constexpr uint64_t not_stalled = FlowPeer::not_stalled;

    static uint32_t writes_of(uint32_t peer)
    {
        return 2 * peer;
    }

    static uint32_t reads_of(uint32_t peer)
    {
        return 2 * peer + 1;
    }

    uint32_t units(uint64_t bytes) const
    {
        return static_cast<uint32_t>(bytes / m_config.bytes.unit);
    }

    Verdict take_arrival(uint32_t index, uint32_t granted, uint32_t seq, uint64_t now_ns,
                         Actions &actions);
    void advance(uint64_t now_ns)
    {
        if (now_ns - m_period_start_ns >= m_config.active_ns) {
            next_period(now_ns);
        }
    }

    void next_period(uint64_t now_ns);
    void collect_bytes(uint64_t now_ns);
    void bytes_grew(uint32_t index, BulkKind kind, uint64_t now_ns);
    void settle_demand(uint32_t index);
    void return_leftover(uint32_t index);
    void return_surplus(uint32_t index);
    void ask_reads(uint32_t index, uint64_t now_ns);
    void ask_messages(uint32_t index, uint32_t queued);
    uint32_t wanted_units(const Peer &peer) const;
    uint64_t bulk_allowance(const Peer &peer, BulkKind kind) const;
    std::optional<BulkGrant> admit_bulk(const Scheduler::Turn &turn, uint64_t now_ns);
    void drain_bytes(Actions &actions);
    void drop_waiting(uint32_t index);
    void credit_grew(uint32_t index, uint64_t now_ns);
    void settle_return(uint32_t index);
    void drain_credit(Actions &actions);
    void update_bulk_active(Peer &peer);
    void resume_window_waits();
    bool starves(const Peer &peer) const;
    void update_byte_wait(uint32_t index);
    std::array<IndexList *, 14> lists();
    FlowCounters counters(uint32_t index) const;

    static void start_stall(uint64_t &since_ns, StallStats &stall, uint64_t now_ns);
    static void end_stall(uint64_t &since_ns, StallStats &stall, uint64_t now_ns);

    FlowConfig m_config;
    ReceivePool m_pool;
    BytePool m_bytes;
    PortWindow m_port;
    Scheduler m_scheduler;
    std::vector<Peer> m_peers;
    uint64_t m_period_start_ns = 0;
    uint32_t m_bulk_peers      = 0; /* with bulk queued or outstanding */
    FlowCounters m_departed; /* of peers that have left */

    IndexList m_owing; /* peers that may hold credit of cancelled messages */
    IndexList m_requests; /* output: requests to send */
    IndexList m_resumes; /* output: peers that may go on */
    IndexList m_returns; /* output: credit to give back */
    IndexList m_byte_requests; /* output */
    IndexList m_give_backs; /* output: totals of messages given back to tell */
    IndexList m_byte_returns; /* output: the same of bytes */
    IndexList m_byte_cells; /* output: cells to write for bytes */
    IndexList m_byte_revokes; /* output */
    IndexList m_suspects; /* output */
    IndexList m_byte_waits; /* peers whose bytes something takes */
    IndexList m_wakes; /* output: ask to be woken */
    IndexList m_wokens; /* output */
    IndexList m_window_waits; /* large messages wait for room in the windows */
    bool m_pump_due = false; /* output */
};

} // namespace be::core
