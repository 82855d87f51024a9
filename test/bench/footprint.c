/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one process needs for 1, 10, 100 and 1000 connected peers: queue pairs, registered bytes, resident memory. The
 * peers are fabrics in other processes, at most PROCESSES of them; each sends and receives one message, then stays idle.
 *
 * Resident memory is told apart: what is this process's own, and the pages it maps of its peers' devices, which the
 * software device needs and which are theirs.
 */
#include "engine/c_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_PEERS = 1000,
    PROCESSES = 100
};

typedef struct {
    uint64_t queue_pairs, registered, peers;
    long own_kib, shared_kib;
} totals_t;

static unsigned arrived;
static uint8_t senders[MAX_PEERS]
                      [BE_FABRIC_ADDR_LEN]; /* of those who introduced themselves */
static unsigned introduced;

static be_rx_result_t
on_message(void *arg, uint8_t id, void *data, size_t length, int keep)
{
    (void)arg, (void)id, (void)keep;
    ++arrived;
    if (length == 8 + BE_FABRIC_ADDR_LEN && introduced < MAX_PEERS) {
        memcpy(senders[introduced++], (uint8_t *)data + 8, BE_FABRIC_ADDR_LEN);
    }
    return BE_RX_DONE;
}

static void on_complete(void *arg, void *comp, be_status_t status)
{
    (void)arg, (void)comp, (void)status;
}

static void
on_unpack(void *arg, void *func, void *func_arg, const void *data, size_t length)
{
    (void)arg, (void)func, (void)func_arg, (void)data, (void)length;
}

static void on_failed(void *arg, be_peer_t *peer, be_status_t status)
{
    (void)arg, (void)peer;
    fprintf(stderr, "a peer failed: %s\n", be_status_string(status));
    exit(1);
}

static be_md_t *open_md(be_port_info_t **ports)
{
    unsigned count;
    char why[256];
    be_md_t *md;

    if (be_ports_query(BE_SOFT_YES, ports, &count, why, sizeof(why)) != BE_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    if (be_md_open((*ports)[0].device, BE_SOFT_YES, &md) != BE_OK) {
        exit(1);
    }
    return md;
}

static be_fabric_t *open_fabric(be_md_t *md, const be_port_info_t *port)
{
    const be_fabric_callbacks_t callbacks = {NULL, on_message, on_complete, on_unpack,
                                             on_failed};
    be_fabric_config_t config;
    be_fabric_t *fabric;

    be_fabric_config_defaults(port, &config);
    if (be_fabric_create(md, port->port, &config, &callbacks, &fabric) != BE_OK) {
        exit(1);
    }
    return fabric;
}

static void
send_one(be_fabric_t *fabric, const uint8_t *to, const void *payload, unsigned length)
{
    be_peer_t *peer;
    be_status_t status;

    if (be_peer_get(fabric, to, &peer) != BE_OK) {
        exit(1);
    }

    do {
        be_fabric_progress(fabric);
        status = be_am_short(peer, 1, 0, payload, length);
    } while (status == BE_ERR_NO_RESOURCE);
    if (status != BE_OK) {
        fprintf(stderr, "cannot send: %s\n", be_status_string(status));
        exit(1);
    }
}

/* `count` peers: they connect, send, and serve until their pipe closes. */
static void run_peers(const uint8_t *address, unsigned count, int pipe_fd)
{
    be_fabric_t *fabrics[MAX_PEERS];
    uint8_t own[BE_FABRIC_ADDR_LEN];
    be_port_info_t *ports;
    be_md_t *md = open_md(&ports);
    char ignored;
    unsigned i;

    for (i = 0; i < count; ++i) {
        fabrics[i] = open_fabric(md, &ports[0]);
        be_fabric_address(fabrics[i], own);
        send_one(fabrics[i], address, own, sizeof(own));
    }
    while (arrived < count) {
        for (i = 0; i < count; ++i) {
            be_fabric_progress(fabrics[i]);
        }
    }
    (void)!read(pipe_fd, &ignored, 1);
    exit(0);
}

static void add_metric(void *arg, const be_metric_t *metric)
{
    totals_t *totals = arg;

    if (!strcmp(metric->name, "queue_pairs")) {
        totals->queue_pairs = metric->value;
    } else if (!strcmp(metric->name, "memory_registered")) {
        totals->registered = metric->value;
    } else if (!strcmp(metric->name, "peers")) {
        totals->peers = metric->value;
    }
}

/* A line of /proc/self/status, in KiB. */
static long status_kib(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    long value = -1;
    char line[256];

    while (file != NULL && value < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (!strncmp(line, name, strlen(name))) {
            value = strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

static void check(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

/* In a process of its own, since a device does not survive fork(): takes `count` peers, which are started
 * before the device is opened, and measures. */
static totals_t measure(unsigned count)
{
    int address_pipe[2], stop_pipe[2];
    uint8_t address[BE_FABRIC_ADDR_LEN];
    totals_t totals         = {0, 0, 0, 0, 0};
    const unsigned children = count < PROCESSES ? count : PROCESSES;
    be_port_info_t *ports;
    be_fabric_t *fabric;
    be_md_t *md;
    unsigned i;

    check(pipe(address_pipe) == 0 && pipe(stop_pipe) == 0, "pipe");
    for (i = 0; i < children; ++i) {
        pid_t child = fork();

        check(child >= 0, "fork");
        if (child == 0) {
            close(stop_pipe[1]);
            check(read(address_pipe[0], address, sizeof(address)) ==
                          (ssize_t)sizeof(address),
                  "read");
            run_peers(address, count / children, stop_pipe[0]);
        }
    }
    close(stop_pipe[0]);

    md     = open_md(&ports);
    fabric = open_fabric(md, &ports[0]);
    be_fabric_address(fabric, address);
    for (i = 0; i < children; ++i) {
        check(write(address_pipe[1], address, sizeof(address)) ==
                      (ssize_t)sizeof(address),
              "write");
    }
    while (arrived < count) {
        be_fabric_progress(fabric);
    }
    check(introduced == count, "introductions");
    for (i = 0; i < count; ++i) {
        send_one(fabric, senders[i], NULL, 0);
    }
    be_fabric_metrics(fabric, add_metric, &totals);
    totals.own_kib    = status_kib("RssAnon:");
    totals.shared_kib = status_kib("RssShmem:");

    close(stop_pipe[1]);
    for (i = 0; i < children; ++i) {
        wait(NULL);
    }
    return totals;
}

/* With "--limit KIB": 1 and 41 peers only, and a failure if one more takes more than that of this process's own or of
 * registered memory. */
int main(int argc, char **argv)
{
    static const unsigned all[] = {1, 10, 100, MAX_PEERS}, few[] = {1, 41};
    const double limit = argc > 2 && !strcmp(argv[1], "--limit") ? strtod(argv[2], NULL) :
                                                                   0;
    const unsigned *steps = limit > 0 ? few : all;
    const unsigned count  = limit > 0 ? 2 : 4;
    totals_t before       = {0, 0, 0, 0, 0};
    int status            = 0;
    unsigned i;

    const char *modules = getenv("BE_MODULEDIR");
    char library[4096];

    if (modules != NULL) {
        snprintf(library, sizeof(library), "%s/libsoftrdma.so", modules);
        setenv("UCX_BE_SOFT_LIBRARY", library, 0);
    }
    printf("%6s %12s %15s %10s   KiB of each further peer: %10s %10s %15s\n", "peers",
           "queue pairs", "registered MiB", "own KiB", "own", "registered",
           "mapped of it");
    for (i = 0; i < count; ++i) {
        totals_t totals;
        int result[2];

        fflush(stdout);
        check(pipe(result) == 0, "pipe");
        if (fork() == 0) {
            totals = measure(steps[i]);
            check(write(result[1], &totals, sizeof(totals)) == (ssize_t)sizeof(totals),
                  "write");
            exit(0);
        }
        close(result[1]);
        check(read(result[0], &totals, sizeof(totals)) == (ssize_t)sizeof(totals),
              "measurement");
        close(result[0]);
        wait(NULL);
        check(totals.peers == steps[i], "number of peers");

        printf("%6u %12llu %15.1f %10ld", steps[i],
               (unsigned long long)totals.queue_pairs,
               (double)totals.registered / (1 << 20), totals.own_kib);
        if (i > 0) {
            const double more       = (double)(totals.peers - before.peers);
            const double own        = (double)(totals.own_kib - before.own_kib) / more;
            const double registered = ((double)totals.registered -
                                       (double)before.registered) /
                                      1024 / more;

            status = limit > 0 && (own > limit || registered > limit);
            printf("   %25s %10.1f %10.1f %15.1f", "", own, registered,
                   (double)(totals.shared_kib - before.shared_kib) / more);
        }
        printf("\n");
        before = totals;
    }
    return status;
}
