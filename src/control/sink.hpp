// SPDX-License-Identifier: BSD-3-Clause
//
// What a fabric implements to hear of its connections.

#pragma once

#include "control/block_cache.hpp"
#include "control/reason.hpp"
#include "control/types.hpp"

#include <string>

namespace be::control {

// Every call comes on the control thread. It must not block: a short lock is
// fine, waiting for progress elsewhere is not. Calls into Node are allowed
// from inside a callback. An exception that escapes a callback closes that
// connection (Reason::local) and is logged.
//
// Life of a connection, initiator (A) and responder (B):
//
//   A: connect() ----Connect---->  B: on_connect()
//   A: on_accept() <---Accept----  B: accept()        or refuse()
//   A: ready() -------Ready----->  B: on_ready()      or refuse()
//
// The responder may post toward the initiator from on_ready() on, the
// initiator toward the responder from on_accept() on. on_closed() comes exactly
// once for every connection that connect() returned or on_connect() announced,
// whoever ends it, and is the last call for its id; the only exception is a
// fabric that has been detached, which hears nothing any more.
//
// connect() returns before or after the first callback of its id: a fabric that
// looks ids up in a table holds the table's lock across connect().
//
// When two fabrics connect to each other at the same time, both connections
// reach their other end. A rule that both ends find by themselves is to keep the
// one whose initiator has the smaller fabric id and to refuse the other with
// Reason::duplicate.
class Sink {
public:
    // The other side's Connect has arrived, authenticated and in range. Answer
    // with Node::accept() or Node::refuse(), now or later, from any thread.
    virtual void on_connect(ConnectionId id, const ConnectInfo &peer) = 0;

    // Answer to our connect(). Continue with Node::ready(), or refuse().
    virtual void on_accept(ConnectionId id, const ConnectInfo &peer) = 0;

    // The initiator is ready to receive.
    virtual void on_ready(ConnectionId id) = 0;

    // With feature_recovery agreed, once the connection is established, any number of
    // times. (A fabric that does not offer the feature never hears of these.)
    virtual void on_recover(ConnectionId, const RecoverInfo & /* of the peer */)
    {
    }
    virtual void on_recovered(ConnectionId, std::uint32_t /* epoch */)
    {
    }

    // With feature_tcp_path agreed, once the connection is established. The bytes are
    // valid during the call, or as long as `memory` lives, if it is taken: they are
    // somewhere in there. Comes no more after Node::pause_reading(id, true) has returned in
    // a callback.
    virtual void on_data(ConnectionId, const DataView &, Block & /* memory */)
    {
    }

    // Fewer than half of max_queued_data bytes wait, after Node::data() has
    // returned false (perhaps before the caller has seen that). May also come once
    // too often.
    virtual void on_writable(ConnectionId)
    {
    }

    // The answer to Node::probe(); comes exactly once, unless the fabric is detached
    // first.
    virtual void on_probed(ProbeId, ProbeResult)
    {
    }

    // `detail` is one line for a log or an error message; it names the peer.
    virtual void on_closed(ConnectionId id, Reason reason, const std::string &detail) = 0;

protected:
    ~Sink() = default; // never deleted through this type
};

} // namespace be::control
