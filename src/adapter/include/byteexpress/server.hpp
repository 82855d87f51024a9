// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/body.hpp>
#include <byteexpress/runtime.hpp>
#include <byteexpress/status.hpp>
#include <byteexpress/stream.hpp>
#include <byteexpress/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace be {

namespace adapter {
class ServerState;
class RequestState;
} // namespace adapter

/** A call as its handler sees it. Copies refer to the same call. */
class BE_API Request {
public:
    /** The name that was called. */
    const std::string &method() const noexcept;

    /** What the caller sent; one piece. */
    const Body &body() const noexcept;

    /** When the caller stops waiting; time_point::max() if he waits for ever. */
    std::chrono::steady_clock::time_point deadline() const noexcept;

    /** The caller has cancelled, or is gone: nobody will see the answer. Any thread. */
    bool canceled() const noexcept;

    explicit Request(std::shared_ptr<adapter::RequestState> state) noexcept;
    ~Request();
    Request(const Request &) noexcept;
    Request(Request &&) noexcept;
    Request &operator=(const Request &) noexcept;
    Request &operator=(Request &&) noexcept;

private:
    std::shared_ptr<adapter::RequestState> m_state;
};

/**
 * Answers one call, once, from any thread. Destroyed without an answer it sends
 * Status::handler_failed, so that no caller waits for nothing.
 */
class BE_API Responder {
public:
    explicit Responder(std::shared_ptr<adapter::RequestState> state) noexcept;
    Responder(Responder &&) noexcept;
    Responder &operator=(Responder &&) noexcept;
    ~Responder();

    /** @throws std::logic_error when the call was answered already. */
    void reply(Body body);

    /**
     * @param text  For people, at most 1000 bytes of it are sent.
     * @param code  The service's own; the caller finds it in Reply::code.
     *
     * @throws std::logic_error when the call was answered already.
     */
    void fail(const std::string &text, std::uint32_t code = 0);

    /** False once answered or moved from. */
    explicit operator bool() const noexcept
    {
        return m_state != nullptr;
    }

private:
    std::shared_ptr<adapter::RequestState> m_state;
};

/** Where a server listens, and its limits. */
struct ServerOptions {
    /** Numeric IPv4 or IPv6 address and port, "10.0.0.1:7000", "[::1]:0"; port 0: any. */
    std::string address = "127.0.0.1:0";

    /** Requests that are being received, wait or run, of all connections: at least 1. */
    std::size_t max_requests = 4096;

    /** The same for one connection: at least 1. Channels are told and keep to it. */
    std::size_t max_requests_per_connection = 256;

    /** Bytes of a request's body, at most. Larger ones are refused unread. */
    std::size_t max_body = std::size_t{1} << 30;

    /** Connections, at most: at least 1. Further ones are rejected. */
    std::size_t max_connections = 4096;

    /** Clients that connect and have not joined yet, at most: at least 1; others wait. */
    std::size_t max_half_open = 128;

    /** Who has not joined by then is cut off. At least 1. */
    std::chrono::milliseconds handshake_timeout{2000};
};

/** Totals of a server since the start, and what it does now. */
struct ServerStats {
    std::uint64_t requests    = 0; //< handlers run
    std::uint64_t overloaded  = 0; //< refused because of max_requests
    std::uint64_t late        = 0; //< refused because their deadline had passed
    std::uint64_t canceled    = 0; //< taken back before their handler ran
    std::uint64_t accepted    = 0; //< connections
    std::uint64_t connections = 0; //< now
    std::uint64_t active      = 0; //< requests being received, waiting or running
};

/**
 * Serves methods by name.
 *
 * Handlers run on the runtime's threads, one at a time on each, without any lock held; a
 * slow handler delays what is on the same thread, so a long task answers later from a
 * thread of its own (Responder). What a handler throws is answered as handler_failed.
 *
 * A request is run at most once: a channel sends each of its requests once under a number
 * of its own, UCP delivers a message once, and a connection on which a number comes
 * again is cut off.
 */
class BE_API Server {
public:
    /** Returns the answer. */
    using Handler = std::function<Body(const Request &)>;
    /** Answers through the responder, now or later, from any thread. */
    using AsyncHandler = std::function<void(Request, Responder)>;
    /** A coroutine that gives the answer. */
    using TaskHandler = std::function<Task<Body>(Request)>;

    /** Returns the answer, which ends the stream; may wait in the stream. */
    using StreamHandler = std::function<Body(const Request &, Stream &)>;
    /** Answers through the responder; keeps the stream as long as it likes. */
    using AsyncStreamHandler = std::function<void(Request, Stream, Responder)>;
    /** A coroutine that gives the answer, which ends the stream. */
    using TaskStreamHandler = std::function<Task<Body>(Request, Stream)>;

    /** Does not listen yet. @throws Error naming the option. */
    explicit Server(Runtime &runtime, const ServerOptions &options = {});

    /** Drains for at most a second. */
    ~Server();
    Server(const Server &)            = delete;
    Server &operator=(const Server &) = delete;

    /**
     * @param name     1 to 255 bytes, not in use yet.
     * @param handler  Runs for each call of it.
     *
     * @throws Error for a bad or used name, or after start().
     */
    void add(const std::string &name, Handler handler);
    /** add() for a handler that answers later. @throws as add(). */
    void add_async(const std::string &name, AsyncHandler handler);
    /** add() for a coroutine. @throws as add(). */
    void add_task(const std::string &name, TaskHandler handler);

    /**
     * A method that is called by Channel::open(), and gets a stream besides: parts come from
     * the caller and go to him until the method has answered.
     *
     * A handler that waits in a stream keeps its thread from other handlers; a task does not.
     *
     * @param name     As of add().
     * @param handler  Runs for each stream of it.
     * @param options  Of its streams. A client that opens as many as
     *                 ServerOptions::max_requests_per_connection can make the server keep
     *                 that many times 2 * parts * max_part bytes.
     *
     * @throws Error for a bad or used name, bad options, or after start().
     */
    void add_stream(const std::string &name, StreamHandler handler,
                    const StreamOptions &options = {});
    /** add_stream() for a handler that answers later. @throws as add_stream(). */
    void add_stream_async(const std::string &name, AsyncStreamHandler handler,
                          const StreamOptions &options = {});
    /** add_stream() for a coroutine. @throws as add_stream(). */
    void add_stream_task(const std::string &name, TaskStreamHandler handler,
                         const StreamOptions &options = {});

    /** Listens. @throws Error naming the address. */
    void start();

    /** Where it listens, with the port that was chosen. */
    std::string address() const;

    /** Drawn at random for each server object: a restarted server has another one. */
    std::uint64_t incarnation() const noexcept;

    /**
     * Accepts nothing new, tells the channels (which go elsewhere), waits until every
     * request was answered and the answers are delivered, and closes the connections.
     * Idempotent. Not to be called from a handler.
     *
     * @return False when `limit` passed before; connections are cut then.
     */
    bool drain(std::chrono::milliseconds limit);

    /** Not of one moment while requests come and go. */
    ServerStats stats() const noexcept;

private:
    std::shared_ptr<adapter::ServerState> m_state;
};

} // namespace be
