// SPDX-License-Identifier: BSD-3-Clause
//
// The process's control thread and everything that runs on it: listening
// sockets, connections, time-outs. Shared by all fabrics of the process.
//
// Threads: every function may be called from any thread and from inside a Sink
// callback. listen(), attach() and detach() wait for the control thread: do not
// call them with a lock held that a callback takes. The others never wait. Callbacks
// come one at a time, on the control thread or inside of poll().
//
// fork(): a child has no control thread. Node::acquire() in the child makes a
// fresh node with its own thread. On a node inherited from the parent, every
// function that would start something throws std::system_error(ECHILD), the
// others do nothing, and the destructor leaves the parent's connections alone;
// the child's copies of their descriptors are closed at fork, so that peers
// still notice at once when the parent dies.
//
// Errors: functions that start something throw (std::system_error for the
// system's refusals, std::invalid_argument for the caller's mistakes), with a
// text that names the thing and the value. An id that is unknown, or whose
// connection has ended, is ignored: the end may always overtake the caller.

#pragma once

#include "control/counters.hpp"
#include "control/sink.hpp"
#include "control/types.hpp"

#include <functional>
#include <memory>
#include <string>

namespace be::control {

class Reactor;

class Node {
public:
    // The process's node, created with its thread on first use. The thread is
    // joined when the last user lets go of its pointer (if that happens inside a
    // callback, as soon as the callback has returned). Fabrics still attached by
    // then are detached.
    // Throws std::system_error.
    static std::shared_ptr<Node> acquire();

    ~Node();
    Node(const Node &)            = delete;
    Node &operator=(const Node &) = delete;

    // Listens on `bind_ip`, e.g. "127.0.0.1". One socket per bind address, shared
    // by all fabrics; a second call with the same address returns the same
    // answer whatever its options. The result is what to put into interface
    // addresses; for a wildcard bind address its IP is unspecified and the
    // caller must put its own in place. The socket closes with the node.
    Address listen(const std::string &bind_ip, const ListenOptions &options = {});

    // From here on, clients that prove knowledge of the identity's token reach
    // `sink`. It must live until detach() has returned.
    // Throws std::invalid_argument when the id is 0 or attached already.
    void attach(const Identity &identity, Sink *sink, const Settings &settings = {});

    // Says Goodbye on the fabric's open connections and closes them. When it
    // returns, no callback of its sink runs or will run (called from inside a
    // callback: none will run after that one) and each Goodbye has been
    // handed to the kernel, unless a connection was too clogged to take it for
    // 200 ms. Peers need not respond. Unknown ids are ignored.
    void detach(std::uint64_t fabric_id);

    // Connects the attached fabric `local_fabric` to the fabric `remote_identity`
    // at `remote`, and sends it `mine` as Connect once both have authenticated
    // each other. Continues with Sink::on_accept() or on_closed(). A peer that
    // drops the connection before it has authenticated itself (overload, not
    // refusal) is tried again until peer_timeout has passed; ECONNREFUSED and
    // the like fail at once (Reason::unreachable).
    // Throws std::invalid_argument: fabric not attached, `mine` out of range or
    // not of this fabric.
    ConnectionId connect(std::uint64_t local_fabric, const Address &remote,
                         const Identity &remote_identity, const ConnectInfo &mine);

    // Asks the process at `remote` whether the fabric `remote_fabric` still lives
    // there, over a connection of its own and without the fabric's token: for the
    // responder of a connection that was cut, which does not know it. The answer
    // comes as Sink::on_probed(), within Settings::probe_timeout. A connection that
    // is dropped without an answer is made again until then.
    // Throws std::invalid_argument: fabric not attached, no address of a host, id 0.
    ProbeId
    probe(std::uint64_t local_fabric, const Address &remote, std::uint64_t remote_fabric);

    // Answers on_connect(). Throws std::invalid_argument when `mine` is out of
    // range.
    void accept(ConnectionId id, const ConnectInfo &mine);

    // Answers on_accept().
    void ready(ConnectionId id);

    // Between fabrics that have agreed on feature_recovery, once the connection is
    // established: after on_ready(), or right after ready(). Otherwise ignored
    // with a warning; a peer that does not know the messages never gets them.
    // Throws std::invalid_argument when `mine` is out of range.
    void recover(ConnectionId id, const RecoverInfo &mine);
    void recovered(ConnectionId id, std::uint32_t epoch);

    // Sends data, between fabrics that have agreed on feature_tcp_path, once the
    // connection is established; in order with the other calls. The bytes are
    // copied before it returns. False when more than max_queued_data bytes
    // wait: nothing has been taken, Sink::on_writable() tells when to go on. True
    // when it has been taken, or is ignored like every call for a connection that
    // has ended or does not allow it. Throws std::invalid_argument when header or
    // payload is too long.
    bool data(ConnectionId id, const DataView &data);

    // Leaves what the peer sends unread, so that it must stop, or goes on reading.
    // While it is paused the connection sends signs of life (each third of its own
    // peer_timeout) but expects none: a peer that ends is noticed after the pause.
    void pause_reading(ConnectionId id, bool paused);

    // For a worker that polls while data comes over the channel: does some of what the
    // control thread would do, in this thread, which saves it the way to the other one.
    // Callbacks, of all fabrics, come from in here. Never waits: as long as another
    // thread is at it, it does nothing. The control thread takes over again on rest()
    // and 2 ms after the last call.
    void poll() noexcept;

    // No poll() will follow soon: call before falling asleep.
    void rest() noexcept;

    // Turns down a connection, on either side; the peer's on_closed() gets this
    // reason and text. Ours gets Reason::local.
    void refuse(ConnectionId id, Reason reason, const std::string &text);

    // Ends a connection. With `goodbye` the peer sees Reason::goodbye, without
    // it Reason::closed_by_peer, as if this process had died. Ours gets
    // Reason::local.
    void close(ConnectionId id, bool goodbye = true);

    // Calls `readable` on the control thread, under the rules for a Sink, whenever `fd`
    // can be read; it should read all that is there. The descriptor stays the caller's,
    // and open until unwatch(). One watch a descriptor.
    // Throws std::system_error, std::invalid_argument: watched already.
    void watch(int fd, std::function<void()> readable);

    // When it returns, no call runs or will run. Not known: ignored.
    void unwatch(int fd);

    Counters counters() const noexcept;

private:
    Node();

    bool is_inherited() const noexcept;
    void refuse_if_inherited() const;

    std::shared_ptr<Reactor> m_reactor;
    unsigned m_generation; // see process_generation()
};

} // namespace be::control
