/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the test of streams from C works with: parts that say where they belong, handlers, and a
 * caller's side.
 */
#ifndef BE_TEST_C_STREAM_FIXTURE_H
#define BE_TEST_C_STREAM_FIXTURE_H

#include "c_check.h"

#include <byteexpress/stream.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The number-th part's bytes. */
static void fill(unsigned char *bytes, size_t length, unsigned number)
{
    uint32_t state = number * 2654435761u + 1;
    size_t i;

    for (i = 0; i < length; i++) {
        state    = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

static int is_filled(const be_part_t *part, size_t length, unsigned number)
{
    unsigned char *bytes = malloc(length + 1);
    int same;

    fill(bytes, length, number);
    same = (part->status == BE_OK) && !part->last && (part->length == length) &&
           ((length == 0) || (memcmp(part->data, bytes, length) == 0));
    free(bytes);
    return same;
}

/* "echo": sends back what comes, and answers with the number of parts; never waits. */
struct echo {
    be_stream_t *stream;
    be_responder_t *responder;
    uint32_t parts;
};

static void echo_read(struct echo *echo);

static void echo_end(struct echo *echo, be_status_t status)
{
    be_stream_destroy(echo->stream); /* in its own callback */
    if (status == BE_OK) {
        be_responder_reply(echo->responder, &echo->parts, sizeof(echo->parts));
    } else {
        be_responder_fail(echo->responder, 0, be_status_string(status));
    }
    free(echo);
}

static void echo_written(void *arg, be_status_t status)
{
    if (status == BE_OK) {
        echo_read(arg);
    } else {
        echo_end(arg, status);
    }
}

static void echo_got(void *arg, const be_part_t *part)
{
    struct echo *echo = arg;

    if ((part->status != BE_OK) || part->last) {
        echo_end(echo, part->status);
        return;
    }
    echo->parts++;
    if (be_stream_start_write(echo->stream, part->data, part->length, echo_written, echo,
                              NULL, 0) != 0) {
        echo_end(echo, BE_CLOSED);
    }
}

static void echo_read(struct echo *echo)
{
    if (be_stream_start_read(echo->stream, echo_got, echo, NULL, 0) != 0) {
        echo_end(echo, BE_CLOSED);
    }
}

static void echo_begin(void *arg, const void *request, size_t length, be_stream_t *stream,
                       be_responder_t *responder)
{
    struct echo *echo = malloc(sizeof(*echo));

    (void)arg;
    (void)request;
    (void)length;
    echo->stream    = stream;
    echo->responder = responder;
    echo->parts     = 0;
    echo_read(echo);
}

/* "down": sends as many parts as the request has bytes; waits. */
static void down(void *arg, const void *request, size_t length, be_stream_t *stream,
                 be_responder_t *responder)
{
    unsigned char bytes[1000];
    be_part_t part;
    unsigned i;

    (void)arg;
    (void)request;
    if ((be_stream_read(stream, &part) == BE_OK) && part.last) {
        for (i = 0; i < length; i++) {
            fill(bytes, sizeof(bytes), i);
            if (be_stream_write(stream, bytes, sizeof(bytes)) != BE_OK) {
                break;
            }
        }
    }
    be_part_release(&part);
    be_stream_destroy(stream);
    be_responder_reply(responder, request, length);
}

/* "hold": for the test to go on with. */
struct held {
    struct event entered;
    be_stream_t *stream;
    be_responder_t *responder;
    size_t length;
};

static void hold(void *arg, const void *request, size_t length, be_stream_t *stream,
                 be_responder_t *responder)
{
    struct held *held = arg;

    (void)request;
    held->stream    = stream;
    held->responder = responder;
    held->length    = length;
    event_set(&held->entered);
}

static void fail(void *arg, const void *request, size_t length, be_stream_t *stream,
                 be_responder_t *responder)
{
    be_part_t part;

    (void)arg;
    (void)request;
    CHECK(be_stream_read(stream, &part) == BE_OK);
    be_part_release(&part);
    be_responder_fail(responder, (uint32_t)length, "no room");
    CHECK(be_stream_read(stream, &part) == BE_CLOSED);
    be_part_release(&part);
    be_stream_destroy(stream);
}

static struct held held = {.entered = EVENT_INIT};

/* A caller's side that is open. */
struct client {
    be_stream_t *stream;
    be_call_t *call;
};

static struct client open_to(be_channel_t *channel, const char *method, size_t length,
                             const be_call_params_t *params,
                             const be_stream_params_t *stream_params)
{
    struct client client = {NULL, NULL};
    char why[200];

    REQUIRE(be_channel_open(channel, method, "0123456789", length, params, stream_params,
                            &client.stream, &client.call, why, sizeof(why)) == 0);
    return client;
}

static struct client open_held(be_channel_t *channel, const be_call_params_t *params)
{
    struct client client = open_to(channel, "hold", 3, params, NULL);

    event_wait(&held.entered);
    CHECK(held.length == 3);
    return client;
}

static be_status_t end_of(struct client client)
{
    be_status_t status;
    be_reply_t reply;

    status = be_call_get(client.call, &reply);
    CHECK(be_call_ready(client.call));
    be_reply_release(&reply);
    be_stream_destroy(client.stream);
    be_call_destroy(client.call);
    return status;
}

static void let_go_of_held(void)
{
    be_stream_destroy(held.stream);
    be_responder_reply(held.responder, NULL, 0);
}

static be_status_t read_status(be_stream_t *stream)
{
    be_part_t part;
    const be_status_t status = be_stream_read(stream, &part);

    CHECK((part.status == status) && !part.last);
    be_part_release(&part);
    return status;
}

#endif
