/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: four threads a rank exchange with the same thread of every other rank at once. */
#include "check.h"

#include <pthread.h>

enum {
    THREADS = 4,
    /* UCX's threads spin for one lock: with more of them than cores a round takes 50 to 300 ms. */
    ROUNDS = 40
};

typedef struct {
    int number;
    int rank;
    int ranks;
    MPI_Comm comm;
} worker_t;

static const size_t sizes[] = {8, 1000, 8192, 40000};

static void *work(void *arg)
{
    const worker_t *self = arg;
    size_t size          = sizes[self->number];
    unsigned char *out = allocate(size), *in = allocate(size);
    int round, step, to, from;

    for (round = 0; round < ROUNDS; ++round) {
        step = 1 + round % ((self->ranks > 1) ? self->ranks - 1 : 1);
        to   = (self->rank + step) % self->ranks;
        from = (self->rank + self->ranks - step) % self->ranks;
        pattern_fill(out, size, self->rank, round, self->number);
        MPI_Sendrecv(out, (int)size, MPI_BYTE, to, self->number, in, (int)size, MPI_BYTE,
                     from, self->number, self->comm, MPI_STATUS_IGNORE);
        pattern_check("threads", in, size, from, round, self->number);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    int rank, ranks, provided, i;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided != MPI_THREAD_MULTIPLE) {
        fail("MPI_THREAD_MULTIPLE is not provided", rank, 0, (size_t)provided);
    }
    for (i = 0; i < THREADS; ++i) {
        workers[i] = (worker_t){.number = i, .rank = rank, .ranks = ranks};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (i = 0; i < THREADS; ++i) {
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            fail("pthread_create", rank, 0, (size_t)i);
        }
    }
    for (i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&workers[i].comm);
    }
    if (rank == 0) {
        printf("%d threads on each of %d ranks verified\n", THREADS, ranks);
    }
    MPI_Finalize();
    return 0;
}
