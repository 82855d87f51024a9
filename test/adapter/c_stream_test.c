/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams from C.
 */
#include "c_stream_fixture.h"

#include <errno.h>
#include <stddef.h>

enum {
    large_part  = 1 << 20,
    large_parts = 48
};

/* Both directions at once, by one thread: it reads while a part is under way, and waits for room
 * when none is. */
static void test_large(be_channel_t *channel)
{
    struct client client = open_to(channel, "echo", 0, NULL, NULL);
    unsigned char *bytes = malloc(large_part);
    unsigned written = 0, read = 0;
    be_status_t status;
    be_reply_t reply;
    be_part_t part;

    while (read < large_parts) {
        if (written < large_parts) {
            fill(bytes, large_part, written);
            status = (written == read) ?
                             be_stream_write(client.stream, bytes, large_part) :
                             be_stream_try_write(client.stream, bytes, large_part);
            memset(bytes, 0, large_part); /* it was copied */
            if (status == BE_OK) {
                if (++written == large_parts) {
                    CHECK(be_stream_finish(client.stream) == BE_OK);
                    CHECK(be_stream_finish(client.stream) == BE_OK);
                }
                continue;
            }
            REQUIRE(status == BE_WOULD_BLOCK);
        }
        REQUIRE(be_stream_read(client.stream, &part) == BE_OK);
        REQUIRE(is_filled(&part, large_part, read++));
        be_part_release(&part);
    }
    CHECK((be_stream_read(client.stream, &part) == BE_OK) && part.last);
    CHECK(part.length == 0);
    be_part_release(&part);
    be_part_release(&part);
    CHECK(be_call_wait_for(client.call, UINT64_MAX));
    CHECK(be_call_get(client.call, &reply) == BE_OK);
    CHECK((reply.length == 4) && (*(const uint32_t *)reply.data == large_parts));
    be_reply_release(&reply);
    CHECK(be_call_get(client.call, &reply) == BE_CLOSED);
    CHECK(strstr(reply.text, "taken before") != NULL);
    be_reply_release(&reply);
    CHECK(be_stream_write(client.stream, "x", 1) == BE_CLOSED);
    be_stream_destroy(client.stream);
    be_call_destroy(client.call);
    free(bytes);
}

static void test_down(be_channel_t *channel)
{
    struct client client = open_to(channel, "down", 10, NULL, NULL);
    be_part_t parts[10];
    be_part_t none;
    unsigned i;

    CHECK(be_stream_finish(client.stream) == BE_OK);
    for (i = 0; i < 10; i++) {
        CHECK(be_stream_read(client.stream, &parts[i]) == BE_OK);
    }
    CHECK((be_stream_try_read(client.stream, &none) == BE_WOULD_BLOCK) || none.last);
    be_part_release(&none);
    CHECK(end_of(client) == BE_OK);
    for (i = 0; i < 10; i++) { /* they outlive the stream */
        CHECK(is_filled(&parts[i], 1000, i));
        be_part_release(&parts[i]);
    }
}

static void count(void *arg)
{
    __atomic_add_fetch((unsigned *)arg, 1, __ATOMIC_SEQ_CST);
}

/* Memory that is lent: given back once when the part went out, and not touched otherwise. */
static void test_ownership(be_channel_t *channel)
{
    be_stream_params_t few;
    unsigned released = 0, sent = 0;
    static const unsigned char constant[3] = {1, 2, 3};
    unsigned char *bytes                   = malloc(100000);
    struct client client;
    be_part_t part;
    be_status_t status;

    be_stream_params_init(&few);
    few.max_part = 100000;
    client       = open_to(channel, "hold", 0, NULL, &few);
    event_wait(&held.entered);
    fill(bytes, 100000, 7);
    CHECK(be_stream_write_owned(client.stream, bytes, 100001, count, &released) ==
          BE_TOO_LARGE);
    CHECK(be_stream_try_write_owned(client.stream, bytes, 100001, count, &released) ==
          BE_TOO_LARGE);
    CHECK(released == 0);
    REQUIRE(be_stream_write_owned(client.stream, bytes, 100000, count, &released) ==
            BE_OK);
    sent = 1;
    while ((status = be_stream_try_write_owned(client.stream, bytes, 100000, count,
                                               &released)) == BE_OK) {
        sent++;
    }
    CHECK((status == BE_WOULD_BLOCK) && (sent <= few.parts));
    for (unsigned i = 0; i < sent; i++) {
        CHECK(be_stream_read(held.stream, &part) == BE_OK);
        CHECK(is_filled(&part, 100000, 7));
        be_part_release(&part);
    }
    CHECK(be_stream_write_owned(client.stream, constant, 3, NULL, NULL) == BE_OK);
    CHECK(be_stream_write_owned(client.stream, NULL, 0, count, &released) == BE_OK);
    sent++;
    CHECK((be_stream_read(held.stream, &part) == BE_OK) && (part.length == 3));
    be_part_release(&part);
    CHECK((be_stream_read(held.stream, &part) == BE_OK) && (part.length == 0));
    CHECK(!part.last);
    be_part_release(&part);
    be_call_cancel(client.call);
    CHECK(be_call_wait_for(client.call, UINT64_MAX));
    CHECK(be_stream_write_owned(client.stream, bytes, 10, count, &released) ==
          BE_CANCELED);
    CHECK(end_of(client) == BE_CANCELED);
    let_go_of_held();
    while (__atomic_load_n(&released, __ATOMIC_SEQ_CST) < sent) {
        /* whoever runs the program bounds this */
    }
    CHECK(released == sent);
    free(bytes);
}

static void ignore(void *arg, const be_part_t *part)
{
    (void)part;
    event_set(arg);
}

static void on_status(void *arg, be_status_t status)
{
    (void)arg;
    (void)status;
}

static void test_bad_arguments(be_channel_t *channel)
{
    struct event ended  = EVENT_INIT;
    be_stream_t *stream = NULL;
    be_call_t *call     = NULL;
    be_stream_params_t params;
    struct client client;
    be_part_t part;
    char why[200];

    be_stream_params_init(&params);
    CHECK((params.parts == 4) && (params.max_part == 1 << 20));
    CHECK(be_channel_open(channel, NULL, NULL, 0, NULL, NULL, &stream, &call, why,
                          sizeof(why)) == EINVAL);
    CHECK(strstr(why, "method ''") != NULL);
    params.parts = 65;
    CHECK(be_channel_open(channel, "hold", NULL, 0, NULL, &params, &stream, &call, why,
                          sizeof(why)) == EINVAL);
    CHECK(strstr(why, "parts 65: expected 1 to 64") != NULL);
    be_stream_params_init(&params);
    params.max_part = 0;
    CHECK(be_channel_open(channel, "hold", NULL, 0, NULL, &params, &stream, &call, why,
                          sizeof(why)) == EINVAL);
    CHECK(strstr(why, "max_part 0") != NULL);
    CHECK((stream == NULL) && (call == NULL));
    be_stream_destroy(NULL);
    be_call_destroy(NULL);

    params.struct_size = 0;
    CHECK(be_channel_open(channel, "hold", NULL, 0, NULL, &params, &stream, &call, why,
                          sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_stream_params_t.struct_size 0: expected ") != NULL);
    CHECK(be_channel_open(channel, "hold", NULL, 3, NULL, NULL, &stream, &call, why,
                          sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_channel_open: body NULL: expected 3 bytes") != NULL);
    CHECK((stream == NULL) && (call == NULL));

    params.struct_size = offsetof(be_stream_params_t, max_part); /* an older caller */
    client             = open_to(channel, "hold", 0, NULL, &params);
    event_wait(&held.entered);
    CHECK(be_stream_start_read(client.stream, NULL, NULL, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_stream_start_read: callback") != NULL);
    CHECK(be_stream_start_write(client.stream, "x", 1, NULL, NULL, why, sizeof(why)) ==
          EINVAL);
    /* the size alone says so: nothing is copied */
    CHECK(be_stream_write(client.stream, "x", SIZE_MAX) == BE_TOO_LARGE);
    CHECK(be_stream_write(client.stream, "x", SIZE_MAX / 4) == BE_TOO_LARGE);
    CHECK(be_stream_try_write(client.stream, "x", SIZE_MAX) == BE_TOO_LARGE);
    CHECK(be_stream_write_owned(client.stream, "x", SIZE_MAX, NULL, NULL) ==
          BE_TOO_LARGE);
    CHECK(be_stream_write(client.stream, NULL, 1) == BE_CLOSED);
    CHECK(be_stream_write_owned(client.stream, NULL, 1, NULL, NULL) == BE_CLOSED);
    CHECK(be_stream_start_write(client.stream, NULL, 1, on_status, NULL, why,
                                sizeof(why)) == EINVAL);
    CHECK(strstr(why, "data NULL: expected 1 bytes") != NULL);
    CHECK(be_stream_start_read(client.stream, ignore, &ended, why, sizeof(why)) == 0);
    CHECK(be_stream_start_read(client.stream, ignore, &ended, why, sizeof(why)) ==
          EINVAL);
    CHECK(strstr(why, "a read while another one waits") != NULL);
    CHECK(be_stream_read(client.stream, &part) == BE_CLOSED);
    CHECK(be_stream_try_read(client.stream, &part) == BE_CLOSED);
    be_part_release(&part);
    CHECK(be_stream_finish(client.stream) == BE_OK);
    CHECK(be_stream_write(client.stream, "x", 1) == BE_CLOSED);
    CHECK(be_stream_start_write(client.stream, "x", 1, on_status, NULL, why,
                                sizeof(why)) == EINVAL);
    CHECK(strstr(why, "a part after finish()") != NULL);
    let_go_of_held();
    event_wait(&ended);
    CHECK(end_of(client) == BE_OK);
}

static void test_ends(be_channel_t *channel)
{
    be_call_params_t params;
    struct client client;
    be_reply_t reply;
    be_status_t status;

    client = open_to(channel, "nothing", 0, NULL, NULL);
    CHECK(read_status(client.stream) == BE_NO_SUCH_METHOD);
    CHECK(be_stream_write(client.stream, NULL, 0) == BE_NO_SUCH_METHOD);
    CHECK(end_of(client) == BE_NO_SUCH_METHOD);

    client = open_to(channel, "fail", 9, NULL, NULL);
    CHECK(be_stream_write(client.stream, "x", 1) == BE_OK);
    CHECK(read_status(client.stream) == BE_HANDLER_FAILED);
    CHECK(be_stream_finish(client.stream) == BE_HANDLER_FAILED);
    CHECK(be_call_get(client.call, &reply) == BE_HANDLER_FAILED);
    CHECK((reply.code == 9) && (strcmp(reply.text, "no room") == 0));
    be_reply_release(&reply);
    be_stream_destroy(client.stream);
    be_call_destroy(client.call);

    client = open_held(channel, NULL);
    CHECK(!be_call_ready(client.call) && !be_call_wait_for(client.call, 1000));
    be_call_cancel(client.call);
    CHECK(read_status(client.stream) == BE_CANCELED);
    CHECK(read_status(held.stream) == BE_CANCELED);
    CHECK(be_stream_write(held.stream, "x", 1) == BE_CANCELED);
    let_go_of_held();
    CHECK(end_of(client) == BE_CANCELED);

    /* half a body is no whole one */
    client = open_held(channel, NULL);
    be_stream_destroy(client.stream);
    client.stream = NULL;
    CHECK(read_status(held.stream) == BE_CANCELED);
    let_go_of_held();
    CHECK(be_call_get(client.call, &reply) == BE_CANCELED);
    CHECK(strcmp(reply.text, "its stream was dropped before finish()") == 0);
    be_reply_release(&reply);
    be_call_destroy(client.call);

    be_call_params_init(&params);
    params.timeout_us = 300000;
    client            = open_held(channel, &params);
    CHECK(read_status(client.stream) == BE_DEADLINE_EXCEEDED);
    CHECK(be_stream_write(client.stream, "x", 1) == BE_DEADLINE_EXCEEDED);
    status = read_status(held.stream);
    CHECK((status == BE_DEADLINE_EXCEEDED) || (status == BE_CANCELED));
    let_go_of_held();
    CHECK(end_of(client) == BE_DEADLINE_EXCEEDED);
}

int main(void)
{
    be_runtime_t *runtime = NULL, *other = NULL;
    be_server_t *server   = NULL;
    be_channel_t *channel = NULL;
    const char *address;
    char why[200] = "";
    be_reply_t reply;

    REQUIRE(be_runtime_create(NULL, &runtime, why, sizeof(why)) == 0);
    REQUIRE(be_runtime_create(NULL, &other, why, sizeof(why)) == 0);
    REQUIRE(be_server_create(runtime, NULL, &server, why, sizeof(why)) == 0);
    CHECK(be_server_add_stream(server, "x", NULL, NULL, NULL, why, sizeof(why)) ==
          EINVAL);
    CHECK(strstr(why, "be_server_add_stream: handler NULL") != NULL);
    CHECK(be_server_add_stream(server, "", hold, NULL, NULL, why, sizeof(why)) == EINVAL);
    CHECK(be_server_add_stream(server, "echo", echo_begin, NULL, NULL, why,
                               sizeof(why)) == 0);
    CHECK(be_server_add_stream(server, "echo", echo_begin, NULL, NULL, why,
                               sizeof(why)) == EINVAL);
    CHECK(strstr(why, "'echo' was added before") != NULL);
    CHECK(be_server_add_stream(server, "down", down, NULL, NULL, why, sizeof(why)) == 0);
    CHECK(be_server_add_stream(server, "fail", fail, NULL, NULL, why, sizeof(why)) == 0);
    CHECK(be_server_add_stream(server, "hold", hold, &held, NULL, why, sizeof(why)) == 0);
    REQUIRE(be_server_start(server, why, sizeof(why)) == 0);
    address = be_server_address(server);
    REQUIRE(be_channel_create(other, &address, 1, &channel, why, sizeof(why)) == 0);

    test_large(channel);
    test_down(channel);
    test_ownership(channel);
    test_bad_arguments(channel);
    test_ends(channel);
    CHECK(be_channel_call(channel, "echo", NULL, 0, NULL, &reply) == BE_NO_SUCH_METHOD);
    CHECK(strstr(reply.text, "'echo' is a stream") != NULL);
    be_reply_release(&reply);

    be_channel_destroy(channel);
    CHECK(be_server_drain(server, 5000) != 0);
    be_server_destroy(server);
    be_runtime_destroy(other);
    be_runtime_destroy(runtime);
    return finish_checks();
}
