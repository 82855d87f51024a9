// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/body.hpp>
#include <byteexpress/export.hpp>
#include <byteexpress/status.hpp>

#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace be {

namespace adapter {
class StreamOperation;
class StreamState;
} // namespace adapter

/**
 * What one side of a stream keeps in memory, whatever goes through it: `parts` times
 * `max_part` bytes of parts that have come and were not read, and as much of parts that
 * were written and have not gone out; one part more while a write waits.
 */
struct StreamOptions {
    /**
     * Parts, 1 to 64, that the other side may have sent and were not read here, and that
     * were written here and have not gone out.
     */
    unsigned parts = 4;

    /**
     * Bytes of a part, at most: at least 1. A larger one is not written, and one that
     * comes is not fetched; it ends the stream with Status::too_large.
     */
    std::size_t max_part = std::size_t{1} << 20;
};

/** What a read gives: a part, the end of them, or why there is none. */
struct Part {
    /**
     * ok: a part, or the end. would_block: nothing has come yet (Stream::try_read() only).
     * Anything else is how the stream ended.
     */
    Status status = Status::would_block;

    /** All of one write, in one piece. */
    Body body;

    /** The other side has written everything; there is no body. */
    bool last = false;

    /** A part has come. */
    explicit operator bool() const noexcept
    {
        return (status == Status::ok) && !last;
    }
};

/** A read or write under way, for co_await, once. Dropping it takes nothing back. */
class BE_API StreamWait {
public:
    explicit StreamWait(std::shared_ptr<adapter::StreamOperation> operation) noexcept;
    StreamWait(StreamWait &&) noexcept;
    ~StreamWait();

    /** It has ended. */
    bool await_ready() const noexcept;

    /** Goes on on the thread that completes it. */
    bool await_suspend(std::coroutine_handle<> handle) const;

protected:
    /** What it gives, once it has ended. */
    Part take();

private:
    std::shared_ptr<adapter::StreamOperation> m_operation;
};

/** Gives a Part. */
class BE_API StreamRead : public StreamWait {
public:
    using StreamWait::StreamWait;
    /** The part. */
    Part await_resume()
    {
        return take();
    }
};

/** Gives a Status, as Stream::write(). */
class BE_API StreamWrite : public StreamWait {
public:
    using StreamWait::StreamWait;
    /** How the write ended. */
    Status await_resume()
    {
        return take().status;
    }
};

/**
 * One side of a stream: a body in parts that goes out, and one that comes, while a call
 * is under way. Parts arrive once each, and in order.
 *
 * Writing waits, or says would_block, while as many parts are under way as the other side
 * takes: a reader that is slow stalls the writer, and nobody else.
 *
 * A stream ends with its call, when the handler answers, and earlier when either side
 * cancels, the deadline passes, or the connection fails. The caller still reads the parts
 * that the handler had written before it answered with success; after any other end what
 * was not read is dropped. Every later read and write says how it ended:
 *
 * - for the caller: the Status of the reply; closed for writing after success.
 * - for the handler: canceled (the caller does not wait any more), deadline_exceeded,
 *   connection_lost, too_large (a part above max_part), closed (it was answered).
 *
 * Dropping a caller's stream before finish() cancels the call, so that no handler takes a
 * body for whole that is not. Otherwise dropping a stream means that what comes is not
 * wanted.
 *
 * Threads: one that reads and one that writes, at a time, which may be the same. Callbacks
 * run as those of a Channel or as handlers do, on a thread of the runtime or one that
 * waits; they must not throw.
 */
class BE_API Stream {
public:
    explicit Stream(std::shared_ptr<adapter::StreamState> state) noexcept;
    Stream(Stream &&) noexcept;
    Stream &operator=(Stream &&) noexcept;
    ~Stream();

    /**
     * The next part; waits for it. In a handler it makes progress meanwhile, but no other
     * handler is run on that thread: prefer start_read() there.
     *
     * @throws std::logic_error when another read waits.
     */
    Part read();

    /** The next part, or Status::would_block. @throws as read(). */
    Part try_read();

    /** read() for co_await. @throws as read(). */
    StreamRead start_read();

    /** read(); `callback` gets the part once, possibly before this returns. */
    void start_read(std::function<void(Part)> callback);

    /**
     * Sends one part; waits until there is room for it.
     *
     * @param part  Goes out from where it is, and is kept until it has; may be empty. Memory
     *              that is used again is passed with an owner, whose end says when, on any thread;
     *              that end calls nothing of this library.
     *
     * @return ok: it goes out. too_large: it is larger than max_part, and nothing has
     *         happened. Anything else is how the stream ended.
     *
     * @throws std::logic_error for a borrowed part, after finish(), and when another write
     *         waits.
     */
    Status write(Body part);

    /** The same without waiting: would_block when there is no room. @throws as write(). */
    Status try_write(const Body &part);

    /** write() for co_await. @throws as write(). */
    StreamWrite start_write(Body part);

    /** write(); `callback` gets the status once, possibly before this returns. */
    void start_write(Body part, std::function<void(Status)> callback);

    /**
     * Nothing more is written: the other side's reader comes to the end. A handler that
     * answers need not say so. Does not wait; does nothing when it was called before.
     *
     * @return How the stream ended, or ok.
     *
     * @throws std::logic_error when a write waits.
     */
    Status finish();

private:
    std::shared_ptr<adapter::StreamState> m_state;
};

} // namespace be
