/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A service in C that greets, and that counts what comes in parts; and a client of it, in one
 * program.
 *
 *     be_run ./hello [NAME]
 */
#include <byteexpress/stream.h>

#include <stdio.h>
#include <string.h>

static void
greet(void *arg, const void *request, size_t length, be_responder_t *responder)
{
    char answer[256];
    int size = snprintf(answer, sizeof(answer), "%s, %.*s!", (const char *)arg,
                        (int)(length < 200 ? length : 200), (const char *)request);

    be_responder_reply(responder, answer, (size_t)size);
}

static void count(void *arg, const void *request, size_t length, be_stream_t *stream,
                  be_responder_t *responder)
{
    size_t bytes = 0, parts = 0;
    char answer[64];
    be_part_t part;
    int size;

    (void)arg;
    (void)request;
    (void)length;
    while ((be_stream_read(stream, &part) == BE_OK) && !part.last) {
        bytes += part.length;
        parts++;
        be_part_release(&part);
    }
    if (part.last) {
        size = snprintf(answer, sizeof(answer), "%zu bytes in %zu parts", bytes, parts);
        be_responder_reply(responder, answer, (size_t)size);
    } else {
        be_responder_fail(responder, 0, be_status_string(part.status));
    }
    be_part_release(&part);
    be_stream_destroy(stream);
}

/* Prints the reply and releases it. */
static int show(be_reply_t *reply)
{
    const int bad = reply->status != BE_OK;

    if (bad) {
        fprintf(stderr, "%s: %s\n", be_status_string(reply->status), reply->text);
    } else {
        printf("%.*s\n", (int)reply->length, (const char *)reply->data);
    }
    be_reply_release(reply);
    return bad;
}

static int call(be_channel_t *channel, const char *name, char *why, size_t why_size)
{
    static const char part[100000];
    be_stream_t *stream;
    be_call_t *counting;
    be_reply_t reply;
    int bad, i;

    be_channel_call(channel, "greet", name, strlen(name), NULL, &reply);
    bad = show(&reply);

    if (be_channel_open(channel, "count", NULL, 0, NULL, NULL, &stream, &counting, why,
                        why_size) != 0) {
        return 1;
    }
    for (i = 0; i < 10; i++) { /* `part` never ends: it is not copied */
        if (be_stream_write_owned(stream, part, sizeof(part), NULL, NULL) != BE_OK) {
            break; /* the reply says why */
        }
    }
    be_stream_finish(stream);
    be_call_get(counting, &reply);
    bad |= show(&reply);
    be_stream_destroy(stream);
    be_call_destroy(counting);
    return bad;
}

int main(int argc, char **argv)
{
    static char hello[]   = "Hello";
    be_runtime_t *runtime = NULL;
    be_server_t *server   = NULL;
    be_channel_t *channel = NULL;
    char why[200]         = "";
    const char *address;
    int bad = 1;

    if ((be_runtime_create(NULL, &runtime, why, sizeof(why)) == 0) &&
        (be_server_create(runtime, NULL, &server, why, sizeof(why)) == 0) &&
        (be_server_add(server, "greet", greet, hello, why, sizeof(why)) == 0) &&
        (be_server_add_stream(server, "count", count, NULL, NULL, why, sizeof(why)) ==
         0) &&
        (be_server_start(server, why, sizeof(why)) == 0)) {
        address = be_server_address(server);
        if (be_channel_create(runtime, &address, 1, &channel, why, sizeof(why)) == 0) {
            bad = call(channel, (argc > 1) ? argv[1] : "world", why, sizeof(why));
        }
    }
    if (why[0] != '\0') {
        fprintf(stderr, "hello: %s\n", why);
    }
    be_channel_destroy(channel);
    be_server_destroy(server);
    be_runtime_destroy(runtime);
    return bad;
}
