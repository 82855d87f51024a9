/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program whose ranks share work by calls: the first one serves numbers of tasks, every rank
 * (it too) fetches one after the other, however long each takes, and MPI adds up what came out. Here
 * it is pi, by the area under 4 / (1 + x^2).
 *
 *     mpicc -o mpi_tasks mpi_tasks.c -lbyteexpress -lm
 *     be_run mpirun -n 4 -mca pml ucx -x UCX_TLS ./mpi_tasks
 */
#include <byteexpress/rpc.h>

#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    TASKS = 1000,
    STEPS = 10000
};

static void check(int error, const char *what, const char *why)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void
next_task(void *arg, const void *request, size_t length, be_responder_t *responder)
{
    uint32_t task = atomic_fetch_add((atomic_uint *)arg, 1);

    (void)request;
    (void)length;
    be_responder_reply(responder, &task, sizeof(task));
}

static uint32_t fetch(be_channel_t *channel)
{
    uint32_t task = 0;
    be_reply_t reply;

    if (be_channel_call(channel, "next_task", NULL, 0, NULL, &reply) != BE_OK) {
        check(1, "next_task", reply.text);
    }
    memcpy(&task, reply.data, sizeof(task));
    be_reply_release(&reply);
    return task;
}

static double area(uint32_t task)
{
    const double width = 1.0 / ((double)TASKS * STEPS);
    double sum         = 0;
    double x;
    int i;

    for (i = 0; i < STEPS; ++i) {
        x = ((double)task * STEPS + i + 0.5) * width;
        sum += 4 / (1 + x * x);
    }
    return sum * width;
}

int main(int argc, char **argv)
{
    static atomic_uint next;
    be_server_t *server = NULL;
    double part = 0, pi = 0;
    unsigned done = 0, all = 0;
    char address[128], why[256];
    const char *addresses[] = {address};
    be_channel_t *channel;
    be_runtime_t *runtime;
    uint32_t task;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(be_runtime_create(NULL, &runtime, why, sizeof(why)), "runtime", why);
    if (rank == 0) {
        check(be_server_create(runtime, NULL, &server, why, sizeof(why)), "server", why);
        check(be_server_add(server, "next_task", next_task, &next, why, sizeof(why)),
              "next_task", why);
        check(be_server_start(server, why, sizeof(why)), "server", why);
        snprintf(address, sizeof(address), "%s", be_server_address(server));
    }
    MPI_Bcast(address, sizeof(address), MPI_CHAR, 0, MPI_COMM_WORLD);
    check(be_channel_create(runtime, addresses, 1, &channel, why, sizeof(why)), address,
          why);

    while ((task = fetch(channel)) < TASKS) {
        part += area(task);
        ++done;
    }
    printf("rank %d of %d: %u tasks\n", rank, size, done);

    MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&done, &all, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%u tasks, pi is %.9f\n", all, pi);
    }

    be_channel_destroy(channel);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody needs the server any more */
    if (server != NULL) {
        be_server_destroy(server);
    }
    be_runtime_destroy(runtime);
    MPI_Finalize();
    return ((all == TASKS) && (fabs(pi - 3.14159265358979) < 1e-9)) ? 0 : 1;
}
