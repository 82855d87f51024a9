/* SPDX-License-Identifier: BSD-3-Clause */
/* Everybody to everybody, content checked: by messages, and by puts into a window. */
#ifndef TEST_MPI_EXCHANGE_H
#define TEST_MPI_EXCHANGE_H

#include "check.h"

static inline void alltoall(int rank, int ranks, size_t size, int round)
{
    unsigned char *out = allocate(size * ranks), *in = allocate(size * ranks);
    int peer;

    for (peer = 0; peer < ranks; ++peer) {
        pattern_fill(out + peer * size, size, rank, round, peer * size);
    }
    MPI_Alltoall(out, (int)size, MPI_BYTE, in, (int)size, MPI_BYTE, MPI_COMM_WORLD);
    for (peer = 0; peer < ranks; ++peer) {
        pattern_check("alltoall", in + peer * size, size, peer, round, rank * size);
    }
    free(out);
    free(in);
}

/* `window` has a slot of that many bytes for each rank. `mine` is as long, and is overwritten. The fence behind
 * it, after which the window may be written again, is the caller's. */
static inline void put_to_all(MPI_Win win, const unsigned char *window, int slot,
                              unsigned char *mine, int rank, int ranks, int round)
{
    int peer;

    pattern_fill(mine, slot, rank, round, 0);
    MPI_Win_fence(0, win);
    for (peer = 0; peer < ranks; ++peer) {
        MPI_Put(mine, slot, MPI_BYTE, peer, (MPI_Aint)rank * slot, slot, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    for (peer = 0; peer < ranks; ++peer) {
        pattern_check("put under fence", window + (size_t)peer * slot, slot, peer, round,
                      0);
    }
}

#endif
