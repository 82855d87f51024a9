/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams for C and other languages: a body in parts that goes to a handler, and one that comes
 * back, while a call is under way. See <byteexpress/stream.hpp> for what they do, and
 * <byteexpress/rpc.h> for channels, servers, errors and texts.
 *
 * Threads: of one stream, one that reads and one that writes, at a time, which may be the same;
 * everything else, any thread.
 */
#ifndef BYTEEXPRESS_STREAM_H
#define BYTEEXPRESS_STREAM_H

#include <byteexpress/rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a stream. */
typedef struct be_stream be_stream_t;

/* The call that a stream belongs to, as its caller sees it. */
typedef struct be_call be_call_t;

/* What one side of a stream keeps in memory at most, in each direction: parts * max_part. */
typedef struct be_stream_params {
    size_t struct_size; /* sizeof(be_stream_params_t) */
    unsigned parts; /* 1 to 64: that may be under way in each direction */
    size_t max_part; /* bytes of a part, at most; at least 1 */
} be_stream_params_t;

/* Sets the defaults. */
BE_API void be_stream_params_init(be_stream_params_t *params);

/*
 * Gets the caller's body, as be_handler_t, a stream, which it ends by be_stream_destroy(), and a
 * responder, whose use ends the stream for the caller. Both may be kept and used later, by any
 * thread, in any order. A handler that waits in a stream keeps its thread from other handlers:
 * be_stream_start_read() and be_stream_start_write() do not wait.
 */
typedef void (*be_stream_handler_t)(void *arg, const void *request, size_t length,
                                    be_stream_t *stream, be_responder_t *responder);

/* Before be_server_start(). `params` NULL: defaults. */
BE_API int be_server_add_stream(be_server_t *server, const char *name,
                                be_stream_handler_t handler, void *arg,
                                const be_stream_params_t *params, char *why,
                                size_t why_size);

/*
 * Opens a stream, without waiting: calls a method that was added as one. Copies `body`. Of
 * `params`, idempotent is ignored; the timeout counts for the whole stream. The caller ends
 * *stream by be_stream_destroy() and *call by be_call_destroy().
 */
BE_API int be_channel_open(be_channel_t *channel, const char *method, const void *body,
                           size_t length, const be_call_params_t *params,
                           const be_stream_params_t *stream_params, be_stream_t **stream,
                           be_call_t **call, char *why, size_t why_size);

/*
 * Ends the use of one side, in a callback of it, too. Of a caller, before be_stream_finish(), it
 * cancels the call; otherwise what still comes is not wanted. NULL is harmless.
 */
BE_API void be_stream_destroy(be_stream_t *stream);

/* What a read gives. */
typedef struct be_part {
    be_status_t status; /* BE_OK: a part, or the end of them; else as be_stream_read() */
    int last; /* not 0: the other side has written everything; there are no bytes */
    const void *data; /* all of one write, in one piece */
    size_t length; /* bytes */
    void *internal; /* for be_part_release() */
} be_part_t;

/*
 * The next part; waits for it, until the call's deadline at most. The part is released by
 * be_part_release(), whatever its status; it outlives the stream.
 *
 * Returns part->status. Not BE_OK: how the stream ended; for a caller as its reply, for a handler
 * BE_CANCELED (the caller does not wait any more), BE_DEADLINE_EXCEEDED, BE_CONNECTION_LOST,
 * BE_TOO_LARGE (a part above max_part) or BE_CLOSED (it was answered). BE_CLOSED also while
 * another read waits, and without memory.
 */
BE_API be_status_t be_stream_read(be_stream_t *stream, be_part_t *part);

/* The same without waiting: BE_WOULD_BLOCK when nothing has come. */
BE_API be_status_t be_stream_try_read(be_stream_t *stream, be_part_t *part);

/* Gets the part once, on some thread; it is released after the callback has returned. */
typedef void (*be_part_callback_t)(void *arg, const be_part_t *part);

/* be_stream_read(); `callback` gets the part, possibly before this returns. EINVAL: another read
 * waits; the callback gets nothing then. */
BE_API int be_stream_start_read(be_stream_t *stream, be_part_callback_t callback,
                                void *arg, char *why, size_t why_size);

/* What the part refers to is not valid any more. Twice is harmless. */
BE_API void be_part_release(be_part_t *part);

/*
 * Sends one part, which may be empty; waits until there is room for it, until the call's deadline
 * at most. Copies the bytes.
 *
 * Returns BE_OK: it goes out. BE_TOO_LARGE: it is larger than max_part, and nothing has happened.
 * Anything else as be_stream_read(). BE_CLOSED also after the caller's success, after
 * be_stream_finish(), while another write waits, for NULL with a length, and without memory.
 */
BE_API be_status_t be_stream_write(be_stream_t *stream, const void *data, size_t length);

/* The same without waiting: BE_WOULD_BLOCK when there is no room. */
BE_API be_status_t be_stream_try_write(be_stream_t *stream, const void *data,
                                       size_t length);

/* The memory of a part is not used any more; on any thread, possibly before the write returns. Calls
 * nothing of this library. */
typedef void (*be_release_t)(void *arg);

/*
 * be_stream_write() without a copy: the part goes out from where it is, and stays valid and
 * unchanged until `release` is called. That is called once when this returns BE_OK, and never
 * otherwise: the memory is the caller's then. `release` NULL: for memory that never ends.
 */
BE_API be_status_t be_stream_write_owned(be_stream_t *stream, const void *data,
                                         size_t length, be_release_t release, void *arg);
/* be_stream_write_owned() without waiting: BE_WOULD_BLOCK when there is no room. */
BE_API be_status_t be_stream_try_write_owned(be_stream_t *stream, const void *data,
                                             size_t length, be_release_t release,
                                             void *arg);

/* Gets what a write returns, once, on some thread. */
typedef void (*be_write_callback_t)(void *arg, be_status_t status);

/* be_stream_write(), copies; `callback` gets the status, possibly before this returns. EINVAL:
 * after be_stream_finish(), and while another write waits; the callback gets nothing then. */
BE_API int be_stream_start_write(be_stream_t *stream, const void *data, size_t length,
                                 be_write_callback_t callback, void *arg, char *why,
                                 size_t why_size);

/*
 * Nothing more is written: the other side's reader comes to the end. A handler that answers need
 * not say so. Does not wait; does nothing when it was called before. Returns how the stream
 * ended, or BE_OK; BE_CLOSED while a write waits.
 */
BE_API be_status_t be_stream_finish(be_stream_t *stream);

/* Not 0: the handler has answered and all of its parts have come, or the call ended otherwise. */
BE_API int be_call_ready(be_call_t *call);

/* Waits for `limit_us` at most; UINT64_MAX: for ever. Not 0: it has ended. */
BE_API int be_call_wait_for(be_call_t *call, uint64_t limit_us);

/*
 * Waits, then gives the reply, once; later ones are BE_CLOSED. The reply is released by
 * be_reply_release(), whatever its status. Returns reply->status.
 */
BE_API be_status_t be_call_get(be_call_t *call, be_reply_t *reply);

/* Ends the call, and its stream, with BE_CANCELED unless it has ended. */
BE_API void be_call_cancel(be_call_t *call);

/* Does not cancel. NULL is harmless. */
BE_API void be_call_destroy(be_call_t *call);

#ifdef __cplusplus
}
#endif

#endif
