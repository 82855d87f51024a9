/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: put, get and accumulate under fence, under lock, and under post-start-complete-wait. */
#include "exchange.h"

#include <string.h>

enum {
    SLOT = 3000
}; /* bytes of each rank's part of a window: no power of two */

static void put_and_get(MPI_Win win, unsigned char *window, int rank, int ranks)
{
    unsigned char *mine = allocate(SLOT), *back = allocate(SLOT);
    int round;

    for (round = 0; round < 10; ++round) {
        put_to_all(win, window, SLOT, mine, rank, ranks, round);
        MPI_Win_fence(0, win);
        MPI_Get(back, SLOT, MPI_BYTE, (rank + 1) % ranks, (MPI_Aint)rank * SLOT, SLOT,
                MPI_BYTE, win);
        MPI_Win_fence(0, win);
        pattern_check("get under fence", back, SLOT, rank, round, 0);
    }
    free(mine);
    free(back);
}

static void lock_and_accumulate(int rank, int ranks)
{
    const int rounds = 50;
    long one = 1, seen = 0, *counter;
    MPI_Win win;
    int round;

    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
                     &win);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (round = 0; round < rounds; ++round) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
    if (seen != (long)rounds * ranks) {
        fail("accumulate under lock", rank, (size_t)seen, (size_t)rounds * ranks);
    }
    MPI_Win_free(&win);
}

/* Even ranks expose, the odd rank above each puts. */
static void post_start(MPI_Win win, unsigned char *window, int rank, int ranks)
{
    MPI_Group world, partner;
    int other = (rank % 2 == 0) ? rank + 1 : rank - 1;
    unsigned char *mine;

    if (other >= ranks) {
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &partner);
    if (rank % 2 == 0) {
        memset(window, 0, SLOT);
        MPI_Win_post(partner, 0, win);
        MPI_Win_wait(win);
        pattern_check("put under post-start", window, SLOT, other, 99, 0);
    } else {
        mine = allocate(SLOT);
        pattern_fill(mine, SLOT, rank, 99, 0);
        MPI_Win_start(partner, 0, win);
        MPI_Put(mine, SLOT, MPI_BYTE, other, 0, SLOT, MPI_BYTE, win);
        MPI_Win_complete(win);
        free(mine);
    }
    MPI_Group_free(&partner);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    unsigned char *window;
    int rank, ranks;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate((MPI_Aint)ranks * SLOT, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                     &win);

    put_and_get(win, window, rank, ranks);
    lock_and_accumulate(rank, ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    post_start(win, window, rank, ranks);

    MPI_Win_free(&win);
    if (rank == 0) {
        printf("one-sided operations of %d ranks verified\n", ranks);
    }
    MPI_Finalize();
    return 0;
}
