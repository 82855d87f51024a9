// SPDX-License-Identifier: BSD-3-Clause
//
// One end of a connection through the failures of its queue pairs. Both ends run the same
// machine; there are no roles. What they say to each other over the channel:
//
//   Recover{epoch, path, position, queue pairs}   my old queue pairs are drained, this has
//                                                  arrived for good, these are my fresh ones
//   Recovered{epoch}                               mine are connected to yours: you may send
//
// Events go in by name, the steps that the driver must take come out. Every event is
// defined in every state; what a state does not know is ignored:
//
//              failed     drained            recover newer    recover same     recovered same
//  connecting  broken +1  -                  broken           -                -
//  ready       broken +1  -                  broken           (say Recovered)  -
//  broken      -          recovering (a)     (adopt epoch) a  (keep) a         -
//  recovering  broken +1  -                  broken           b                (keep)
//  rewired     broken +1  -                  broken           (say Recovered)  ready
//  tcp         -          -                  broken           -                -
//  dead        -          -                  -                -                -
//
//  +1 the next epoch. a: when drained, with a channel, and with a device or TCP allowed: at
//  once if their Recover of this epoch is here, else by tick() when the back-off is over.
//  b: rewire; rewired() makes it rewired, or ready if their Recovered has come. If either
//  path is tcp: tcp instead. Messages of older epochs are ignored.
//
// test/model/recovery.table has all pairs of situation and event. The tests hold this class
// against it, and the model in test/model is built from it.
//
// The driver
//  - keeps the content of the peer's Recover(E) if epoch() is E after recover(); says the
//    same Recover again, word for word, when send_recover comes again in an epoch;
//  - takes TCP data in state tcp only, and sends in ready and tcp only (it may receive over
//    fresh queue pairs as soon as it has connected them);
//  - reports channel_lost() before channel_back(), and no message of a lost channel after it;
//  - reports rewired() for the epoch it was asked in only;
//  - calls tick() when due_ns() has come. That may change with every event.
//
// Times are nanoseconds of one clock that does not go back. Not thread safe; the owner
// serialises calls. No call allocates but the constructor's exceptions.

#pragma once

#include <cstdint>
#include <optional>

#include "core/backoff.hpp"
#include "core/recovery_types.hpp"

namespace be::core {

class Recovery {
public:
    static constexpr uint64_t never = ~uint64_t{0};

    /* Throws std::invalid_argument. The seed is for the jitter of the back-off. */
    Recovery(const RecoveryConfig &config, uint64_t seed);

    /* The first connection is made: channel and queue pairs are good on both ends. */
    RecoverySteps connected(uint64_t now_ns);

    /* A queue pair, port or device in use failed, or fresh ones could not be connected. */
    RecoverySteps failed(uint64_t now_ns);

    /* What is in use in ready or tcp has carried data. If it fails, that is a first failure; else
     * only if it was up for stable_ns: a queue pair that reaches nobody does not fail at once. */
    void worked();

    /* What stood in the way of others may be over: a recovery that waits for its back-off may
     * begin now. It counts for the back-off if that fails. */
    void hasten(uint64_t now_ns);

    /* Nothing of the old queue pairs can arrive any more, and all that did was taken. */
    RecoverySteps drained(uint64_t now_ns);

    /* The fresh queue pairs are connected to theirs. */
    RecoverySteps rewired(uint64_t now_ns);

    /* The messages of the peer. */
    RecoverySteps recover(uint32_t epoch, RecoveryPath path, uint64_t now_ns);
    RecoverySteps recovered(uint32_t epoch, uint64_t now_ns);

    RecoverySteps channel_lost(uint64_t now_ns);
    RecoverySteps channel_back(uint64_t now_ns);

    /* There is no device for fresh queue pairs, or one again. At first there is one. */
    RecoverySteps no_device(uint64_t now_ns);
    RecoverySteps device_back(uint64_t now_ns);

    RecoverySteps refused(uint64_t now_ns);
    RecoverySteps departed(uint64_t now_ns);

    /* reason: local or protocol. */
    RecoverySteps give_up(RecoveryReason reason, uint64_t now_ns);

    /* Time has passed. All recoveries of our own begin here, if they may; answering the
     * peer's needs no permission. */
    RecoverySteps tick(uint64_t now_ns, bool may_begin = true);

    /* When tick() has something to do, perhaps at once; never if only an event can change
     * anything. */
    uint64_t due_ns() const;

    /* A tick was not allowed to begin: it is not due for that again, the driver calls it
     * when it may. */
    bool waits_for_permission() const
    {
        return m_denied && can_begin();
    }

    RecoveryState state() const
    {
        return m_state;
    }

    /* 0 is that of the first connection. Serial arithmetic. */
    uint32_t epoch() const
    {
        return m_epoch;
    }

    /* What our Recover of this epoch says. */
    RecoveryPath path() const
    {
        return m_path;
    }

    /* none unless dead. */
    RecoveryReason reason() const
    {
        return m_reason;
    }

    bool channel_is_lost() const
    {
        return m_lost_ns != never;
    }

    const RecoveryStats &stats() const
    {
        return m_stats;
    }

private:
    bool is_up() const;
    bool can_begin() const;
    RecoverySteps fail(uint64_t now_ns);
    RecoverySteps break_off(uint32_t epoch, uint64_t now_ns);
    RecoverySteps adopt(uint32_t epoch, RecoveryPath path, uint64_t now_ns);
    RecoverySteps begin(uint64_t now_ns);
    RecoverySteps answer(uint64_t now_ns);
    RecoverySteps meet(uint64_t now_ns);
    RecoverySteps go_up(RecoveryState state, uint64_t now_ns);
    RecoverySteps die(RecoveryReason reason);
    RecoverySteps unless_lost(RecoveryStep step) const;
    uint64_t deadline_ns() const;
    uint64_t return_ns() const;

    RecoveryConfig m_config;
    Backoff m_backoff;
    RecoveryState m_state   = RecoveryState::connecting;
    RecoveryPath m_path     = RecoveryPath::rdma;
    RecoveryReason m_reason = RecoveryReason::none;
    uint32_t m_epoch        = 0;
    bool m_drained          = false; /* in broken */
    bool m_heard            = false; /* their Recovered, before we were rewired */
    bool m_denied           = false; /* in broken: a tick may not begin */
    bool m_worked           = false; /* what is up now */
    std::optional<RecoveryPath> m_theirs; /* their Recover of this epoch is here */
    uint64_t m_begin_ns  = 0; /* in broken: end of the back-off */
    uint64_t m_up_ns     = never; /* ready or tcp since */
    uint64_t m_left_ns   = never; /* neither since */
    uint64_t m_lost_ns   = never; /* no channel since */
    uint64_t m_device_ns = 0; /* a device since; never: none */
    RecoveryStats m_stats;
};

} // namespace be::core
