// SPDX-License-Identifier: BSD-3-Clause
//
// Two ends of a connection whose queue pairs, devices and channel fail, checked by Spin
// (recovery.sh). The transitions are those of recovery.table: steps.pml is made from it, and
// the unit test holds src/core/recovery.hpp against the same file. What is around them is
// written here: queue pairs, the channel, and the driver that takes the steps.
//
// Each end sends MESSAGES numbered messages. What lands in memory can not be taken back
// (writes), so that nothing may arrive twice, and not only be delivered once: there is no
// check for duplicates, and none is needed.
//
// Bounds: MESSAGES each way; FAILURES of queue pairs, at either end, at any time; CUTS of the
// channel, losing what is in flight; DEVICES that vanish, for good or for a time. Back-offs,
// draining and connecting take any time. CRASH: one end may be replaced by another incarnation.
// MISCHIEF: that many messages of the channel are lost, late or doubled without a cut, which
// TCP never does; then only safety can be asked for.
//
// Wrong on purpose, for recovery.sh to see that it is noticed:
//   DROP_DUPLICATE_CHECK  a replay starts at the first message, whatever the peer has
//   DROP_EPOCH_CHECK      messages of older epochs are taken for present ones
//   NO_DRAIN              Recover is sent while the old queue pairs still deliver
//   NO_REPETITION         nothing is said again when the channel is back

#include "steps.pml"

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef FAILURES
#define FAILURES 2
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef DEVICES
#define DEVICES 0
#endif
#ifndef MISCHIEF
#define MISCHIEF 0
#endif

#define NO_QP   255
#define IN_FLIGHT 8

mtype = { Recover, Recovered, Data };

/* The ends: what Recovery holds. */
mtype situation[2] = connecting;
byte epoch[2];
bool lost[2];
bool device[2] = true;

/* Their drivers. Queue pairs are named by the epoch whose Recover announced them. */
byte qp[2];             /* own queue pair that is connected; NO_QP: there is none */
byte peer_qp[2];        /* what it is connected to */
byte said_epoch[2];     /* what Recover said last: the same when it is said again */
byte said_position[2];
byte their_qp[2];       /* what their Recover of this epoch said */
byte their_position[2];
byte next[2];           /* number of the next message to send */
byte received[2];       /* how many have landed */

/* Messages in flight to an end: the queue pair that they are for, and their number. */
chan wire[2] = [IN_FLIGHT] of { byte, byte };

/* The channel to an end: kind, epoch (and so queue pair), path is tcp, position or number of
 * the data. */
chan channel[2] = [IN_FLIGHT] of { mtype, byte, byte, byte };
bool channel_up = true;

byte failures = FAILURES;
byte cuts     = CUTS;
byte devices  = DEVICES;
byte mischief = MISCHIEF;
bool gone[2];           /* the device does not come back */
bool crashed[2];

/* Of one step; not part of the state. */
hidden byte steps;
hidden mtype kind;
hidden byte said;
hidden byte tcp;
hidden byte number;
hidden byte queue_pair;

#define other (1 - p)
#define on_tcp(p) (situation[p] == tcp_own || situation[p] == tcp_peer)
#define up(p) (situation[p] == ready || on_tcp(p))
#define draining(p) \
    (situation[p] == broken || situation[p] == broken_rdma || situation[p] == broken_tcp)
#define uses_queue_pairs(p) \
    (situation[p] == connecting || situation[p] == ready || situation[p] == recovering || \
     situation[p] == recovering_tcp || situation[p] == rewiring || \
     situation[p] == rewiring_heard || situation[p] == rewired)

inline send(p, what, is_tcp, value) {
    if
    :: channel_up && !lost[p] ->
        assert(nfull(channel[1 - p]));
        channel[1 - p]!what(epoch[p], is_tcp, value)
    :: else /* into a connection that is no more */
    fi
}

inline flush_wire(p) {
    do
    :: len(wire[p]) > 0 -> wire[p]?_, _
    :: else -> break
    od;
    skip
}

inline cut_channel() {
    do
    :: len(channel[0]) > 0 -> channel[0]?_(_, _, _)
    :: len(channel[1]) > 0 -> channel[1]?_(_, _, _)
    :: else -> break
    od;
    channel_up = false
}

/* Exactly once, in order, to the very process that the connection was made with. */
inline land(p) {
    assert(number == received[p]);
    assert(!crashed[p]);
    received[p]++
}

/* The driver takes the steps. Draining, connecting and dialling end later, by an event. */
inline act(p) {
    possible(p);
    if
    :: steps & SEND_RECOVER ->
        if
        :: said_epoch[p] != epoch[p] ->
            said_epoch[p] = epoch[p];
            said_position[p] = received[p]
        :: else
        fi;
        send(p, Recover, (situation[p] == recovering_tcp || situation[p] == tcp_own),
             said_position[p])
    :: else
    fi;
    if
    :: steps & SEND_RECOVERED -> send(p, Recovered, false, 0)
    :: else
    fi;
    if
    :: steps & RESUME ->
#ifdef DROP_DUPLICATE_CHECK
        next[p] = 0
#else
        next[p] = their_position[p]
#endif
    :: else
    fi
}

/* A message came over the channel. */
inline hear(p) {
    steps = 0;
    if
    :: kind == Recover ->
        if
        :: said > epoch[p] && !tcp -> on_recover_newer_rdma(p, said)
        :: said > epoch[p] && tcp -> on_recover_newer_tcp(p, said)
#ifdef DROP_EPOCH_CHECK
        :: said <= epoch[p] && !tcp -> on_recover_same_rdma(p, said)
        :: said <= epoch[p] && tcp -> on_recover_same_tcp(p, said)
#else
        :: said == epoch[p] && !tcp -> on_recover_same_rdma(p, said)
        :: said == epoch[p] && tcp -> on_recover_same_tcp(p, said)
        :: said < epoch[p] && !tcp -> on_recover_older_rdma(p, said)
        :: said < epoch[p] && tcp -> on_recover_older_tcp(p, said)
#endif
        fi;
        if
#ifdef DROP_EPOCH_CHECK
        :: true ->
#else
        :: said == epoch[p] ->
#endif
            their_qp[p] = said;
            their_position[p] = number
        :: else
        fi
    :: kind == Recovered ->
        if
#ifdef DROP_EPOCH_CHECK
        :: true -> on_recovered_same(p)
#else
        :: said == epoch[p] -> on_recovered_same(p)
#endif
        :: else
        fi
    :: kind == Data ->
        if
        :: on_tcp(p) -> land(p)
        :: else /* from before their Recover, which says how far we are */
        fi
    fi;
    act(p)
}

inline lose_device(p) {
    devices--;
    device[p] = false;
    if
    :: uses_queue_pairs(p) -> on_failed(p); act(p)
    :: else
    fi
}

inline take(p) {
    mischief--;
    channel[p]?kind(said, tcp, number)
}

inline put_back(p) {
    assert(nfull(channel[p]));
    channel[p]!kind(said, tcp, number)
}

active [2] proctype end() {
    byte p = _pid;

end_of_work:
    do
    /* What the driver reports, sooner or later. */
    :: d_step { situation[p] == connecting -> on_connected(p); act(p) }
    :: d_step { draining(p) ->
#ifndef NO_DRAIN
            flush_wire(p);
            qp[p] = NO_QP;
            peer_qp[p] = NO_QP;
#endif
            on_drained(p); act(p) }
    :: d_step { (situation[p] == drained && !lost[p]) || (situation[p] == tcp_own && device[p]) ->
            on_tick(p); act(p) }
    :: d_step { situation[p] == rewiring || situation[p] == rewiring_heard ->
            qp[p] = epoch[p];
            peer_qp[p] = their_qp[p];
            on_rewired(p); act(p) }

    /* Data. */
    :: d_step { situation[p] == ready && next[p] < MESSAGES ->
            /* they can take it, unless they have gone on already */
            assert(crashed[other] || epoch[other] > epoch[p] ||
                   (qp[other] == peer_qp[p] && peer_qp[other] == qp[p]));
            assert(nfull(wire[other]));
            wire[other]!peer_qp[p], next[p];
            next[p]++ }
    :: d_step { on_tcp(p) && next[p] < MESSAGES && len(channel[other]) < IN_FLIGHT / 2 ->
            send(p, Data, true, next[p]);
            next[p]++ }
    :: d_step { nempty(wire[p]) ->
            wire[p]?queue_pair, number;
            if
            :: qp[p] == queue_pair -> land(p)
            :: else /* of a queue pair that is no more */
            fi }

    /* The channel. */
    :: d_step { !lost[p] && nempty(channel[p]) && situation[p] != dead ->
            channel[p]?kind(said, tcp, number);
            hear(p) }
    :: d_step { !channel_up && !lost[p] && situation[p] != dead ->
            on_channel_lost(p); lost[p] = true; act(p) }
    :: d_step { channel_up && lost[p] && situation[p] != dead ->
            on_channel_back(p); lost[p] = false;
#ifdef NO_REPETITION
            steps = 0;
#endif
            act(p) }

    /* Faults. */
    :: d_step { failures > 0 && uses_queue_pairs(p) ->
            failures--;
            on_failed(p); act(p) }
    :: d_step { devices > 0 && device[p] && situation[p] != dead -> lose_device(p) }
    :: d_step { devices > 0 && device[p] && situation[p] != dead ->
            lose_device(p);
            gone[p] = true }
    :: d_step { !device[p] && !gone[p] -> device[p] = true }
#if MISCHIEF
    :: d_step { mischief > 0 && nempty(channel[p]) -> take(p) /* lost */ }
    :: d_step { mischief > 0 && nempty(channel[p]) -> take(p); put_back(p) /* late */ }
    :: d_step { mischief > 0 && nempty(channel[p]) -> take(p); put_back(p); put_back(p) }
#endif
    od
}

/* The network, the operator, and the judge. */
active proctype world() {
    byte p;

    do
    :: d_step { cuts > 0 && channel_up ->
            cuts--;
            cut_channel() }
    :: d_step { !channel_up && lost[0] && lost[1] && !crashed[0] && !crashed[1] ->
            channel_up = true }
#ifdef CRASH
    /* Another incarnation in the place of end 1. It knows nothing of end 0. */
    :: d_step { !crashed[1] ->
            crashed[1] = true;
            situation[1] = dead;
            qp[1] = NO_QP;
            peer_qp[1] = NO_QP;
            cut_channel() }
    :: d_step { crashed[1] && lost[0] && situation[0] != dead ->
            p = 0;
            on_refused(p); act(p) }
#endif
    /* Nothing can happen any more. */
    :: timeout ->
#ifdef CRASH
        assert(situation[0] == dead);
#elif MISCHIEF == 0
        assert((situation[0] == ready && situation[1] == ready) || (on_tcp(0) && on_tcp(1)));
        assert(epoch[0] == epoch[1]);
        assert(received[0] == MESSAGES && received[1] == MESSAGES);
        assert(!on_tcp(0) || !device[0] || !device[1]);
#endif
        break
    od
}
