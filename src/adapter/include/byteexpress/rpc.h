/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers and channels for C and other languages: see <byteexpress/server.hpp> and
 * <byteexpress/channel.hpp> for what they do.
 *
 * Functions that return int return 0 or an errno value: EINVAL (an argument), EADDRNOTAVAIL
 * (an address, or UCX finds no transport), ENOMEM, EIO (anything else); `why`, when not NULL,
 * gets a text of at most `why_size` bytes.
 *
 * NULL for bytes of which there are some, and for a callback or a handler, is an argument that is
 * said to be wrong, as is a struct_size of 0. Objects and what a result is written to must not be
 * NULL where that is not allowed explicitly.
 *
 * Threads: every function, any thread. A runtime outlives its servers and channels.
 */
#ifndef BYTEEXPRESS_RPC_H
#define BYTEEXPRESS_RPC_H

#include <byteexpress/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads, and UCX below them: be::Runtime. */
typedef struct be_runtime be_runtime_t;
/* Serves methods by name: be::Server. */
typedef struct be_server be_server_t;
/* A service, as its callers see it: be::Channel. */
typedef struct be_channel be_channel_t;
/* Answers one call: be::Responder. */
typedef struct be_responder be_responder_t;

/* How a call ended: be::Status. */
typedef enum be_status {
    BE_OK                = 0,
    BE_HANDLER_FAILED    = 1,
    BE_NO_SUCH_METHOD    = 2,
    BE_OVERLOADED        = 3,
    BE_DRAINING          = 4,
    BE_DEADLINE_EXCEEDED = 5,
    BE_CANCELED          = 6,
    BE_TOO_LARGE         = 7,
    BE_CONNECTION_LOST   = 8,
    BE_UNREACHABLE       = 9,
    BE_WOULD_BLOCK       = 10,
    BE_CLOSED            = 11,
    BE_PROTOCOL_ERROR    = 12
} be_status_t;

/* The name of a status, as "ok"; never NULL, never freed. */
BE_API const char *be_status_string(be_status_t status);

/* What a thread of a runtime does while nothing happens. */
typedef enum be_progress {
    BE_POLLING      = 0, /* polls for ever: a core busy for each thread */
    BE_EVENT_DRIVEN = 1, /* sleeps at once */
    BE_ADAPTIVE     = 2 /* polls for spin_us, then sleeps */
} be_progress_t;

/* What a runtime is made with. */
typedef struct be_runtime_params {
    size_t struct_size; /* sizeof(be_runtime_params_t) */
    unsigned threads; /* 1 to 256 */
    be_progress_t progress; /* while nothing happens */
    unsigned spin_us; /* BE_ADAPTIVE: how long to poll before sleeping */
    int pin; /* not 0: bind each thread to a core */
    const char *token; /* shared secret, 16 to 1024 bytes; NULL: the variable BE_TOKEN */
} be_runtime_params_t;

/* Sets the defaults. */
BE_API void be_runtime_params_init(be_runtime_params_t *params);

/* `params` NULL: defaults. */
BE_API int be_runtime_create(const be_runtime_params_t *params, be_runtime_t **runtime,
                             char *why, size_t why_size);
/* Not on one of its own threads. NULL is harmless. */
BE_API void be_runtime_destroy(be_runtime_t *runtime);

/* `address`: numeric, as "10.0.0.1:7000"; NULL: 127.0.0.1 and any port. */
BE_API int be_server_create(be_runtime_t *runtime, const char *address,
                            be_server_t **server, char *why, size_t why_size);

/*
 * `request` is valid until the handler returns. The responder is used exactly once, in
 * the handler or later, by any thread.
 */
typedef void (*be_handler_t)(void *arg, const void *request, size_t length,
                             be_responder_t *responder);

/* Before be_server_start(). */
BE_API int be_server_add(be_server_t *server, const char *name, be_handler_t handler,
                         void *arg, char *why, size_t why_size);
/* Listens. */
BE_API int be_server_start(be_server_t *server, char *why, size_t why_size);

/* With the port that was chosen; valid as long as the server. */
BE_API const char *be_server_address(be_server_t *server);

/* Not 0: every request was answered within the limit. */
BE_API int be_server_drain(be_server_t *server, unsigned limit_ms);
/* Drains for at most a second. NULL is harmless. */
BE_API void be_server_destroy(be_server_t *server);

/* Copies the bytes; the responder is gone afterwards. */
BE_API void
be_responder_reply(be_responder_t *responder, const void *data, size_t length);
/* `code` is the service's own; `text` may be NULL. */
BE_API void be_responder_fail(be_responder_t *responder, uint32_t code, const char *text);

/* The service is at `count` addresses, best first: at least one. Copies them; does not connect. */
BE_API int be_channel_create(be_runtime_t *runtime, const char *const *addresses,
                             size_t count, be_channel_t **channel, char *why,
                             size_t why_size);
/* Ends calls under way with BE_CLOSED. NULL is harmless. */
BE_API void be_channel_destroy(be_channel_t *channel);

/* How a call is made. */
typedef struct be_call_params {
    size_t struct_size; /* sizeof(be_call_params_t) */
    uint64_t timeout_us; /* 0: no time at all; UINT64_MAX: for ever */
    unsigned max_attempts; /* altogether; at least 1 */
    int idempotent; /* not 0: may be run twice */
    int bulk; /* not 0: be::Priority::bulk */
    void *response; /* where the response goes, or NULL */
    size_t response_size; /* bytes there, at most */
} be_call_params_t;

/* Sets the defaults. */
BE_API void be_call_params_init(be_call_params_t *params);

/* How a call ended. */
typedef struct be_reply {
    be_status_t status; /* BE_OK: it was run once, and this is its answer */
    uint32_t code; /* the handler's own, with BE_HANDLER_FAILED */
    const char *text; /* why it is not BE_OK; never NULL */
    const void *data; /* the response; be_call_params_t.response if that was given */
    size_t length; /* bytes of the response */
    uint64_t incarnation; /* of the server that answered or was asked last; 0: none */
    unsigned attempts; /* that were made */
    void *internal; /* for be_reply_release() */
} be_reply_t;

/*
 * Calls and waits. `body` stays the caller's. `params` NULL: defaults. The reply is released by
 * be_reply_release(), whatever its status.
 */
BE_API be_status_t be_channel_call(be_channel_t *channel, const char *method,
                                   const void *body, size_t length,
                                   const be_call_params_t *params, be_reply_t *reply);

/* Gets the reply once, on some thread; it is released after the callback has returned. */
typedef void (*be_callback_t)(void *arg, const be_reply_t *reply);

/* Calls; copies `body`. */
BE_API int be_channel_start(be_channel_t *channel, const char *method, const void *body,
                            size_t length, const be_call_params_t *params,
                            be_callback_t callback, void *arg, char *why,
                            size_t why_size);

/* What the reply refers to is not valid any more. Twice is harmless. */
BE_API void be_reply_release(be_reply_t *reply);

#ifdef __cplusplus
}
#endif

#endif
