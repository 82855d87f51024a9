/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C interface, from C.
 */
#include "c_check.h"

#include <byteexpress/rpc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void echo(void *arg, const void *request, size_t length, be_responder_t *responder)
{
    ++*(unsigned *)arg;
    be_responder_reply(responder, request, length);
}

static void fail(void *arg, const void *request, size_t length, be_responder_t *responder)
{
    (void)arg;
    (void)request;
    be_responder_fail(responder, (uint32_t)length, "not today");
}

struct waiter {
    struct event event;
    be_status_t status;
    char data[16];
};

static void on_reply(void *arg, const be_reply_t *reply)
{
    struct waiter *waiter = arg;

    waiter->status = reply->status;
    if (reply->length < sizeof(waiter->data)) {
        memcpy(waiter->data, reply->data, reply->length);
    }
    event_set(&waiter->event);
}

static void test_errors(be_runtime_t *runtime)
{
    const char *addresses[]     = {"localhost"};
    const char *const missing[] = {"127.0.0.1:1", NULL};
    be_runtime_params_t params;
    be_runtime_t *other   = NULL;
    be_channel_t *channel = NULL;
    be_server_t *server   = NULL;
    char why[200];

    be_runtime_params_init(&params);
    params.threads = 0;
    CHECK(be_runtime_create(&params, &other, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "threads 0") != NULL);
    CHECK(other == NULL);
    be_runtime_params_init(&params);
    params.token = "too short";
    CHECK(be_runtime_create(&params, &other, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "9 bytes: expected 16 to 1024") != NULL);
    CHECK(be_channel_create(runtime, addresses, 1, &channel, why, sizeof(why)) ==
          EADDRNOTAVAIL);
    CHECK(strstr(why, "'localhost'") != NULL);
    CHECK(be_channel_create(runtime, NULL, 0, &channel, why, 10) == EINVAL);
    CHECK(strlen(why) == 9);
    CHECK(be_server_create(runtime, "x", &server, NULL, 0) == 0);
    CHECK(be_server_add(server, NULL, echo, NULL, why, sizeof(why)) == EINVAL);
    CHECK(be_server_start(server, why, sizeof(why)) == EADDRNOTAVAIL);
    CHECK(be_server_add(server, "x", NULL, NULL, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_server_add: handler NULL: expected a function") != NULL);
    be_server_destroy(server);
    CHECK(be_channel_create(runtime, NULL, 2, &channel, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_channel_create: addresses NULL") != NULL);
    CHECK(be_channel_create(runtime, missing, 2, &channel, why, sizeof(why)) == EINVAL);
    CHECK(strstr(why, "addresses[1] NULL: expected a text") != NULL);
    CHECK(strcmp(be_status_string(BE_WOULD_BLOCK), "would_block") == 0);
}

/* What would otherwise be noticed by a thread of the runtime, or never. */
static void test_bad_calls(be_channel_t *channel)
{
    struct waiter waiter    = {.event = EVENT_INIT};
    be_call_params_t params = {.timeout_us = 1}; /* not initialized */
    be_reply_t reply;
    char why[200];

    CHECK(be_channel_start(channel, "echo", "x", 1, NULL, NULL, NULL, why, sizeof(why)) ==
          EINVAL);
    CHECK(strstr(why, "be_channel_start: callback NULL: expected a function") != NULL);
    CHECK(be_channel_start(channel, "echo", NULL, 7, NULL, on_reply, &waiter, why,
                           sizeof(why)) == EINVAL);
    CHECK(strstr(why, "be_channel_start: body NULL: expected 7 bytes") != NULL);
    CHECK(be_channel_start(channel, "echo", "x", SIZE_MAX, NULL, on_reply, &waiter, why,
                           sizeof(why)) == ENOMEM);
    CHECK(be_channel_call(channel, "echo", NULL, 7, NULL, &reply) == BE_CLOSED);
    CHECK(strstr(reply.text, "be_channel_call: body NULL: expected 7 bytes") != NULL);
    be_reply_release(&reply);
    CHECK(be_channel_call(channel, "echo", "x", 1, &params, &reply) == BE_CLOSED);
    CHECK(strstr(reply.text, "be_call_params_t.struct_size 0: expected ") != NULL);
    be_reply_release(&reply);
}

static void test_calls(be_channel_t *channel)
{
    struct waiter waiter = {.event = EVENT_INIT};
    be_call_params_t params;
    be_reply_t reply;
    char response[8] = "";
    size_t large     = 1 << 20;
    char *bytes      = malloc(large);

    CHECK(be_channel_call(channel, "echo", "hello", 5, NULL, &reply) == BE_OK);
    CHECK((reply.length == 5) && (memcmp(reply.data, "hello", 5) == 0));
    CHECK((reply.attempts == 1) && (reply.incarnation != 0));
    be_reply_release(&reply);
    be_reply_release(&reply);

    memset(bytes, 7, large);
    CHECK(be_channel_call(channel, "echo", bytes, large, NULL, &reply) == BE_OK);
    CHECK((reply.length == large) && (memcmp(reply.data, bytes, large) == 0));
    be_reply_release(&reply);
    free(bytes);

    be_call_params_init(&params);
    params.response      = response;
    params.response_size = sizeof(response);
    CHECK(be_channel_call(channel, "echo", "abc", 3, &params, &reply) == BE_OK);
    CHECK((reply.data == response) && (memcmp(response, "abc", 3) == 0));
    be_reply_release(&reply);

    CHECK(be_channel_call(channel, "fail", "1234", 4, NULL, &reply) == BE_HANDLER_FAILED);
    CHECK((reply.code == 4) && (strcmp(reply.text, "not today") == 0));
    be_reply_release(&reply);
    CHECK(be_channel_call(channel, "", NULL, 0, NULL, &reply) == BE_NO_SUCH_METHOD);
    be_reply_release(&reply);
    params.timeout_us = 0;
    CHECK(be_channel_call(channel, "echo", NULL, 0, &params, &reply) ==
          BE_DEADLINE_EXCEEDED);
    be_reply_release(&reply);

    CHECK(be_channel_start(channel, "echo", "later", 5, NULL, on_reply, &waiter, NULL,
                           0) == 0);
    event_wait(&waiter.event);
    CHECK((waiter.status == BE_OK) && (strcmp(waiter.data, "later") == 0));
}

int main(void)
{
    unsigned runs         = 0;
    be_runtime_t *runtime = NULL;
    be_server_t *server   = NULL;
    be_channel_t *channel = NULL;
    const char *address;
    char why[200] = "";

    REQUIRE(be_runtime_create(NULL, &runtime, why, sizeof(why)) == 0);
    test_errors(runtime);
    CHECK(be_server_create(runtime, NULL, &server, why, sizeof(why)) == 0);
    CHECK(be_server_add(server, "echo", echo, &runs, why, sizeof(why)) == 0);
    CHECK(be_server_add(server, "fail", fail, NULL, why, sizeof(why)) == 0);
    CHECK(be_server_start(server, why, sizeof(why)) == 0);
    address = be_server_address(server);
    CHECK(be_channel_create(runtime, &address, 1, &channel, why, sizeof(why)) == 0);
    test_bad_calls(channel);
    test_calls(channel);
    CHECK(runs == 4);
    be_channel_destroy(channel);
    CHECK(be_server_drain(server, 5000) != 0);
    be_server_destroy(server);
    be_runtime_destroy(runtime);
    return finish_checks();
}
