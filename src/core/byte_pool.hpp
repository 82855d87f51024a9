// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's side of byte credit: shares what a port can take in without a queue
// building up among all that send bulk to it.
//
// A channel is what bulk comes by: writes and large messages of a peer, or our own reads
// from it, for which the reader is both ends. Everything is counted in units.
//
//   G, A, D  granted, arrived, and wanted, totals; O = G - A is outstanding
//   idle     channel that wants no more than it holds: O counts as bonus
//   running  it wants more, or uses what it wanted
//   late     running, and a grant has not arrived half a loop after it was due
//   loop     time from a grant to the arrival of its use, when nothing is in the way
//
// Rules
//   1. sum O <= run + bonus + late, the budget. Every grant checks it.
//   2. Running channels are granted a quantum in turn while their O stay within what the
//      path holds and a quantum, in whole quanta, and within `run`: more would only make
//      a queue. Four short demands (a quantum at most) go before a long one.
//      What the path holds is probed now and then: for some quanta running channels are
//      held to half, so that no queue stands, and their loops are the path's.
//   3. A running channel that is late moves to the account `late`, so that it holds up
//      nobody else; there it gets one quantum after another, as far as the account goes.
//   4. A channel whose grants arrive late is held to less and less at a time (its cap);
//      in time, to more again. At its cap it is served like a late one, and by what
//      nobody else wants, as far as it could still be moved to `late` with it.
//   5. A grant is due a loop after it was given, and not before all that was granted
//      before could have arrived at the port's rate. The loop follows the fastest
//      arrival of the last millisecond, up to four times what was configured.
//   6. Idle channels that were active lately hold a bonus, bonus / their number, so that
//      their next burst starts at once. Those idle for longer keep theirs until somebody
//      comes short: then it is called back (REVOKE), the longest idle first.
//   7. When `late` is full and further channels are late, those that were silent for
//      suspect_ns are reported: their connections are to be given up.
//
// No deadlock. Telling and asking need no credit, and what is held can be used: a write
// fits any credit, and credit smaller than the message that waits goes back at once. So
// the credit of a running channel arrives, or turns late, or its peer dies; both empty
// `run`, except when `late` is full of silent channels, which rule 7 clears.
//
// Not thread safe; the owner serialises calls. Every call is O(1), amortised over grants;
// only add() allocates.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/grant_log.hpp"
#include "core/grant_totals.hpp"
#include "core/index_list.hpp"
#include "core/serial.hpp"

namespace be::core {

struct BytePoolConfig {
    uint32_t unit        = 256; /* bytes; the same on both ends, >= 1 */
    uint32_t quantum     = 64; /* units of one grant, >= 1 */
    uint32_t run         = 0; /* units; 0: bytes are not granted at all */
    uint32_t bonus       = 0; /* units */
    uint32_t late        = 0; /* units */
    uint32_t least_bonus = 16; /* units: a smaller one is not worth it, >= 1 */
    uint64_t loop_ns     = 11'400; /* >= 1 */
    uint32_t unit_ps     = 20'480; /* picoseconds that a unit takes on the port, >= 1 */
    uint64_t active_ns   = 1'000'000; /* after its last use a channel counts as active */
    uint64_t suspect_ns  = 1'000'000; /* rule 7 */
    uint32_t first_total = 0; /* of all totals; other than 0 only in tests */

    bool enabled() const
    {
        return run != 0;
    }

    /* For a port of this rate whose idle loop takes loop_ns: a quantum is about a ninth
     * of what the path holds, a power of two from 4 to 64 KiB. */
    static BytePoolConfig derive(double gbps, uint64_t loop_ns);

    /* For a port of this rate, toward which no more than `budget` bytes may be under way:
     * half of it runs, an eighth is bonus, the rest for those who are late. The loop is
     * what the running half takes. least_quantum: bytes of the largest message. */
    static BytePoolConfig
    within(uint64_t budget, double bytes_per_second, uint32_t least_quantum);
};

class BytePool {
public:
    static constexpr uint32_t none = IndexList::none;

    /* Throws std::invalid_argument: the field, its value and what is accepted. */
    explicit BytePool(const BytePoolConfig &config);

    /* The channel is there from now on; any index, dense ones best. */
    void add(uint32_t channel, uint64_t now_ns);

    /* Nothing of it can arrive any more: all it held is free. */
    void remove(uint32_t channel, uint64_t now_ns);

    bool member(uint32_t channel) const
    {
        return (channel < m_channels.size()) && m_channels[channel].member;
    }

    /* So many units arrived, or will not come. False, and nothing changed, when the
     * channel had not as many left. */
    bool arrived(uint32_t channel, uint32_t units, uint64_t now_ns);

    /* How far it wants to be granted; may be late or repeated. */
    void request(uint32_t channel, uint32_t demand, uint64_t now_ns);

    /* Total given back, the answer to a revoke or not. False when it cannot be. */
    bool returned(uint32_t channel, uint32_t total, uint64_t now_ns);

    /* Looks after what only time changes; at due_ns() at the latest. */
    void tick(uint64_t now_ns);

    /* ~0: there is nothing to look after. */
    uint64_t due_ns() const;

    /* --- outputs; `none` when there is no more --- */

    /* A channel whose total has grown. Until told() it is not returned again. */
    uint32_t next_grown()
    {
        return m_grown.pop_front();
    }

    /* A channel that is to give back all but kept(). */
    uint32_t next_revoke()
    {
        return m_revokes.pop_front();
    }

    /* A channel whose connection is to be given up. */
    uint32_t next_suspect()
    {
        return m_suspects.pop_front();
    }

    bool has_output() const
    {
        return !m_grown.empty() || !m_revokes.empty() || !m_suspects.empty();
    }

    void told(uint32_t channel)
    {
        m_channels[channel].told = m_channels[channel].granted;
        m_grown.erase(channel);
    }

    bool untold(uint32_t channel) const
    {
        return m_channels[channel].told != m_channels[channel].granted;
    }

    uint32_t kept(uint32_t channel) const
    {
        return m_channels[channel].keep;
    }

    uint32_t granted(uint32_t channel) const
    {
        return m_channels[channel].granted;
    }

    uint32_t arrived(uint32_t channel) const
    {
        return m_channels[channel].arrived;
    }

    /* What was given back so far, total. */
    uint32_t given_back(uint32_t channel) const
    {
        return m_channels[channel].returned;
    }

    uint32_t outstanding() const
    {
        return m_account[0] + m_account[1] + m_account[2];
    }

    uint32_t budget() const
    {
        return m_config.run + m_config.bonus + m_config.late;
    }

    /* Outstanding of channels that run, and of those that are late. */
    uint32_t running() const
    {
        return m_account[1];
    }

    uint32_t late() const
    {
        return m_account[2];
    }

    /* Times that a channel turned late. */
    uint64_t lates() const
    {
        return m_lates;
    }

    /* Loop without queues as probed, the average over grants. */
    uint64_t path_delay_ns() const
    {
        return m_path_ns;
    }

    /* Units that running channels may hold now (rule 2). */
    uint32_t run_limit() const
    {
        return m_run;
    }

    bool enabled() const
    {
        return m_config.enabled();
    }

    const BytePoolConfig &config() const
    {
        return m_config;
    }

    /* The first broken invariant in words, or empty. O(channels). */
    std::string check() const;

private:
    enum List : uint8_t {
        short_demands,
        long_demands,
        restricted,
        lists,
        unlisted = lists
    };

    struct Channel : GrantTotals {
        uint32_t cap        = 0; /* rule 4 */
        List list           = unlisted;
        bool running        = false;
        bool late           = false;
        bool suspected      = false;
        uint64_t active_ns  = 0; /* last sign of life */
        uint64_t arrival_ns = 0;
        uint64_t cut_ns     = 0; /* of the cap */
    };

    static unsigned account_of(const Channel &channel);
    bool over_cap(const Channel &channel) const;
    uint32_t room() const;
    uint64_t transfer_ns(uint32_t units) const;

    template<class Change>
    void account(Channel &channel, Change &&change);
    void settle(uint32_t index);
    void grant(uint32_t index, uint32_t units, uint64_t now_ns, bool timed);
    void complete_grants(uint32_t index, uint64_t now_ns);
    void judge(Channel &channel, const GrantLog::Grant &grant, uint64_t now_ns);
    void observe(uint64_t loop_ns, uint64_t now_ns);
    void follow_path(uint64_t loop_ns);
    void probe(uint64_t now_ns);

    void touch(uint32_t index, uint64_t now_ns);
    void expire_active(uint64_t now_ns);
    void find_late(uint64_t now_ns);
    bool make_late(uint32_t index);
    void suspect(uint64_t now_ns);
    void suspect(IndexList &list, uint64_t now_ns);

    void enlist(uint32_t index);
    void unlist(uint32_t index);
    void time_bonus(uint32_t index, uint64_t now_ns);
    bool serve_one(uint64_t now_ns);
    void serve(uint64_t now_ns);
    void top_up(uint32_t index, uint64_t now_ns);
    void shrink(uint32_t index, uint32_t share);
    bool reclaim();
    void revoke(uint32_t index, uint32_t keep);

    BytePoolConfig m_config;
    std::vector<Channel> m_channels;
    GrantLog m_log;
    uint32_t m_account[3] = {}; /* sum O of idle, running, late channels */
    uint64_t m_due_ns     = 0; /* of the latest grant */
    uint64_t m_base_ns; /* fastest loop as observed lately; at least as configured */
    uint64_t m_path_ns; /* average of the loops while probing */
    uint32_t m_run; /* rule 2, units */
    uint32_t m_probes_left  = 0; /* grants; not 0: probing */
    uint64_t m_probe_end_ns = 0; /* at the latest */
    uint64_t m_probe_ns     = 0; /* when to probe next */
    uint64_t m_probe_pause_ns; /* until the one after */
    uint64_t m_fastest_ns  = ~uint64_t{0}; /* in this period of observation */
    uint64_t m_observed_ns = 0; /* start of the period */
    uint64_t m_shrunk_ns   = 0;
    uint32_t m_shorts      = 0; /* served in a row */
    uint32_t m_revoking    = 0;
    uint64_t m_lates       = 0;

    IndexList m_demands[lists];
    IndexList m_active; /* the least recently active first */
    IndexList m_idle; /* idle for long, and perhaps holding credit */
    IndexList m_late; /* the longest first */
    IndexList m_overdue; /* late, but the account is full */
    IndexList m_grown; /* output */
    IndexList m_revokes; /* output */
    IndexList m_suspects; /* output */
};

} // namespace be::core
