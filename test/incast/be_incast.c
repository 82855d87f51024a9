/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many processes push to one through UCP:
 *   be_incast put|asleep|tag WRITERS BYTES-EACH BYTES-OF-AN-OPERATION [COMMAND]
 * COMMAND is run when everything has arrived and everybody is still there. Prints
 *   bytes B seconds S
 * put: ucp_put into a part of the sink's memory of each writer's own. asleep: the same, and the sink, which has no
 * endpoint, sleeps whenever UCP lets it. tag: messages. What arrived last is compared.
 */
#include <ucp/api/ucp.h>

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>

enum {
    MAX_BLOB  = 4096,
    IN_FLIGHT = 8, /* operations of a writer */
    MAX_COUNT = 256
};

/* What the processes share. */
typedef struct {
    atomic_uint published, connected, done, ended;
    atomic_int go;
    int ends[2]; /* of a pipe: a byte from each writer that has done all */
    size_t address_length, key_length;
    char address[MAX_BLOB], key[MAX_BLOB];
    uint64_t memory;
} board_t;

static board_t *board;
static ucp_context_h context;
static ucp_worker_h worker;
static size_t writers, each, size;
static int use_tags, asleep;

static void require(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "be_incast: %s\n", what);
        exit(1);
    }
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "be_incast: %s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

static void open_worker(void)
{
    ucp_params_t params        = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                  .features   = UCP_FEATURE_RMA | UCP_FEATURE_TAG |
                                              UCP_FEATURE_WAKEUP};
    ucp_worker_params_t single = {.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_config_t *config;

    check(ucp_config_read(NULL, NULL, &config), "configuration");
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    check(ucp_worker_create(context, &single, &worker), "ucp_worker_create");
}

static void wait_for(ucs_status_ptr_t request, const char *what)
{
    if (UCS_PTR_IS_ERR(request)) {
        check(UCS_PTR_STATUS(request), what);
    } else if (request != NULL) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            /* There are more of us than processors: who waits sleeps. */
            if (ucp_worker_progress(worker) == 0) {
                check(ucp_worker_wait(worker), "ucp_worker_wait");
            }
        }
        check(ucp_request_check_status(request), what);
        ucp_request_free(request);
    }
}

static uint8_t mark(size_t writer, size_t operation)
{
    return (uint8_t)(writer * 31 + operation * 7 + 1);
}

static void write_all(size_t writer)
{
    ucp_ep_params_t params             = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                          .address    = (const ucp_address_t *)board->address};
    ucp_request_param_t nothing        = {0};
    ucs_status_ptr_t window[IN_FLIGHT] = {0};
    uint8_t *data                      = malloc(IN_FLIGHT * size);
    size_t i, count = each / size;
    ucp_rkey_h key;
    ucp_ep_h ep;

    open_worker();
    while (!atomic_load(&board->published)) {
        sched_yield();
    }
    check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
    check(ucp_ep_rkey_unpack(ep, board->key, &key), "ucp_ep_rkey_unpack");
    wait_for(ucp_ep_flush_nbx(ep, &nothing), "connecting");
    atomic_fetch_add(&board->connected, 1);
    while (!atomic_load(&board->go)) {
        sched_yield();
    }
    for (i = 0; i < count; ++i) {
        uint8_t *from = data + i % IN_FLIGHT * size;

        wait_for(window[i % IN_FLIGHT], "a push");
        memset(from, mark(writer, i), size);
        window[i % IN_FLIGHT] =
                use_tags ?
                        ucp_tag_send_nbx(ep, from, size, writer, &nothing) :
                        ucp_put_nbx(ep, from, size,
                                    board->memory +
                                            (writer * IN_FLIGHT + i % IN_FLIGHT) * size,
                                    key, &nothing);
    }
    for (i = 0; i < IN_FLIGHT; ++i) {
        wait_for(window[i], "a push");
    }
    wait_for(ucp_ep_flush_nbx(ep, &nothing), "ucp_ep_flush");
    atomic_fetch_add(&board->done, 1);
    require(write(board->ends[1], "", 1) == 1, "a pipe is broken");
    while (atomic_load(&board->ended) == 0) {
        ucp_worker_progress(worker);
        sched_yield();
    }
    exit(0);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void receive_all(uint8_t *memory)
{
    ucp_request_param_t nothing = {0};
    size_t slots = writers * IN_FLIGHT, count = each / size, left = slots;
    ucs_status_ptr_t *requests = calloc(slots, sizeof(*requests));
    size_t *posted             = calloc(slots, sizeof(*posted));
    size_t i;

    for (i = 0; i < slots; ++i) {
        posted[i] = i % IN_FLIGHT;
    }
    while (left != 0) {
        ucp_worker_progress(worker);
        for (i = 0; i < slots; ++i) {
            if (requests[i] != NULL) {
                if (ucp_request_check_status(requests[i]) == UCS_INPROGRESS) {
                    continue;
                }
                check(ucp_request_check_status(requests[i]), "a message");
                ucp_request_free(requests[i]);
                requests[i] = NULL;
                posted[i] += IN_FLIGHT;
            }
            if (posted[i] < count) {
                requests[i] = ucp_tag_recv_nbx(worker, memory + i * size, size,
                                               i / IN_FLIGHT, ~UINT64_C(0), &nothing);
                require(!UCS_PTR_IS_ERR(requests[i]), "ucp_tag_recv_nbx failed");
                if (requests[i] == NULL) {
                    posted[i] += IN_FLIGHT;
                }
            } else if (posted[i] != SIZE_MAX) {
                posted[i] = SIZE_MAX;
                --left;
            }
        }
    }
    free(requests);
    free(posted);
}

/* Until the transport or a writer that is ready wakes it. */
static void sleep_once(void)
{
    struct pollfd events[2] = {{.events = POLLIN}, {.events = POLLIN}};
    ucs_status_t status;
    char byte;

    check(ucp_worker_get_efd(worker, &events[0].fd), "ucp_worker_get_efd");
    events[1].fd = board->ends[0];
    status       = ucp_worker_arm(worker);
    if (status != UCS_ERR_BUSY) {
        check(status, "ucp_worker_arm");
        require(poll(events, 2, -1) > 0, "poll failed");
        if (events[1].revents & POLLIN) {
            require(read(events[1].fd, &byte, 1) == 1, "a pipe is broken");
        }
    }
}

static int sink(const char *command)
{
    size_t length            = writers * IN_FLIGHT * size;
    uint8_t *memory          = mmap(NULL, length, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                              UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                .address = memory,
                                .length  = length};
    size_t count             = each / size, i, writer;
    ucp_address_t *address;
    double start, seconds;
    ucp_mem_h handle;
    void *key;
    int status = 0;

    require(memory != MAP_FAILED, "no memory");
    open_worker();
    check(ucp_mem_map(context, &map, &handle), "ucp_mem_map");
    check(ucp_rkey_pack(context, handle, &key, &board->key_length), "ucp_rkey_pack");
    check(ucp_worker_get_address(worker, &address, &board->address_length), "address");
    require(board->key_length <= MAX_BLOB && board->address_length <= MAX_BLOB,
            "an address or a key is longer than expected");
    memcpy(board->address, address, board->address_length);
    memcpy(board->key, key, board->key_length);
    board->memory = (uintptr_t)memory;
    atomic_store(&board->published, 1);
    while (atomic_load(&board->connected) != writers) {
        ucp_worker_progress(worker);
        sched_yield();
    }
    start = now();
    atomic_store(&board->go, 1);
    if (use_tags) {
        receive_all(memory);
    }
    while (atomic_load(&board->done) != writers) {
        if ((ucp_worker_progress(worker) == 0) && asleep) {
            sleep_once();
        }
    }
    seconds = now() - start;
    for (writer = 0; writer < writers; ++writer) {
        for (i = count < IN_FLIGHT ? 0 : count - IN_FLIGHT; !use_tags && i < count; ++i) {
            const uint8_t *part = memory + (writer * IN_FLIGHT + i % IN_FLIGHT) * size;

            require(part[0] == mark(writer, i) && part[size - 1] == mark(writer, i),
                    "what arrived is not what was sent");
        }
    }
    printf("bytes %zu seconds %.6f\n", writers * count * size, seconds);
    fflush(stdout);
    if (command != NULL) {
        status = system(command);
    }
    atomic_store(&board->ended, 1);
    return status;
}

int main(int argc, char **argv)
{
    size_t i;
    int status, failed = 0;

    if (argc < 5) {
        fprintf(stderr,
                "usage: be_incast put|asleep|tag WRITERS BYTES-EACH BYTES [COMMAND]\n");
        return 2;
    }
    use_tags = strcmp(argv[1], "tag") == 0;
    asleep   = strcmp(argv[1], "asleep") == 0;
    writers  = strtoul(argv[2], NULL, 0);
    each     = strtoul(argv[3], NULL, 0);
    size     = strtoul(argv[4], NULL, 0);
    require(writers >= 1 && writers <= MAX_COUNT, "writers: 1 to 256");
    require(size >= 1 && each >= size, "bytes: at least one operation's");

    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    require(board != MAP_FAILED, "no shared memory");
    require(pipe(board->ends) == 0, "no pipe");
    for (i = 0; i < writers; ++i) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            write_all(i);
        }
    }
    failed = sink(argc > 5 ? argv[5] : NULL);
    while (wait(&status) > 0) {
        failed |= status;
    }
    return failed != 0;
}
