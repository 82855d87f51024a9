/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the machine gives without any device, for comparison with the software device: two processes that
 * play ping-pong with a word in shared memory, and one that writes into another's memory.
 *
 *   bare pingpong ROUNDS [yield]   median of half a round trip in us; yield: sched_yield while waiting
 *   bare writev BYTES ROUNDS       MiB/s of process_vm_writev
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct court {
    _Alignas(64) _Atomic uint64_t ping;
    _Alignas(64) _Atomic uint64_t pong;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);

    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    memset(memory, 0, bytes);
    return memory;
}

static void await(_Atomic uint64_t *word, uint64_t value, int yield)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value) {
        if (yield) {
            sched_yield();
        }
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Parent and child each get a processor of those allowed, if there are two. */
static void separate(int is_child)
{
    cpu_set_t allowed, one;
    int first = -1, last = -1;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        fail("sched_getaffinity");
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed)) {
            first = (first < 0) ? cpu : first;
            last  = cpu;
        }
    }
    CPU_ZERO(&one);
    CPU_SET(is_child ? last : first, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        fail("sched_setaffinity");
    }
}

/* The child ends with its parent. */
static pid_t start_child(void)
{
    pid_t child = fork();

    if (child < 0) {
        fail("fork");
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    separate(child == 0);
    return child;
}

static int pingpong(uint64_t rounds, int yield)
{
    struct court *court = shared(sizeof(*court));
    uint64_t *times     = calloc(rounds, sizeof(*times));
    pid_t child;

    if (times == NULL) {
        fail("calloc");
    }
    child = start_child();
    for (uint64_t i = 1; i <= rounds; ++i) {
        if (child == 0) {
            await(&court->ping, i, yield);
            atomic_store_explicit(&court->pong, i, memory_order_release);
        } else {
            uint64_t start = now_ns();

            atomic_store_explicit(&court->ping, i, memory_order_release);
            await(&court->pong, i, yield);
            times[i - 1] = now_ns() - start;
        }
    }
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    qsort(times, rounds, sizeof(*times), compare);
    printf("%.3f\n", (double)times[rounds / 2] / 2000);
    return 0;
}

static int writev_bandwidth(size_t bytes, uint64_t rounds)
{
    char *from = shared(bytes);
    char *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    int ready[2];
    char byte = 0;
    pid_t child;
    uint64_t start;

    if ((to == MAP_FAILED) || (pipe(ready) != 0)) {
        fail("mmap, pipe");
    }
    child = start_child();
    if (child == 0) {
        memset(to, 1, bytes); /* pages of its own */
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    if (read(ready[0], &byte, 1) != 1) {
        fail("child");
    }
    start = now_ns();
    for (uint64_t i = 0; i < rounds; ++i) {
        struct iovec local = {from, bytes}, remote = {to, bytes};

        if (process_vm_writev(child, &local, 1, &remote, 1, 0) != (ssize_t)bytes) {
            fail("process_vm_writev");
        }
    }
    printf("%.1f\n", (double)bytes * (double)rounds / 1048576 /
                             ((double)(now_ns() - start) * 1e-9));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    if ((argc >= 3) && (strcmp(argv[1], "pingpong") == 0)) {
        return pingpong(strtoull(argv[2], NULL, 10), argc > 3);
    }
    if ((argc == 4) && (strcmp(argv[1], "writev") == 0)) {
        return writev_bandwidth(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    }
    fprintf(stderr, "usage: bare pingpong ROUNDS [yield] | bare writev BYTES ROUNDS\n");
    return 2;
}
