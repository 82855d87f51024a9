/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-to-all (equal and unequal parts), broadcast and allreduce of 1 B to 16 MiB, content checked. The larger
 * sizes are left out where all ranks together would need more than MAX_TOTAL bytes.
 */
#include "exchange.h"

static const size_t MAX_SIZE  = 16u << 20;
static const size_t MAX_TOTAL = 256u << 20;

/* Rank r sends r + p + 1 parts of `size` to rank p, none where both are equal. */
static int parts(int from, int to)
{
    return (from == to) ? 0 : (from + to + 1) % 4;
}

static void alltoallv(int rank, int ranks, size_t size, int round)
{
    int *counts    = allocate(4 * ranks * sizeof(int));
    int *out_count = counts, *out_at = counts + ranks, *in_count = counts + 2 * ranks,
        *in_at = counts + 3 * ranks;
    unsigned char *out, *in;
    size_t sent = 0, taken = 0;
    int peer;

    for (peer = 0; peer < ranks; ++peer) {
        out_at[peer]    = (int)sent;
        in_at[peer]     = (int)taken;
        out_count[peer] = (int)(parts(rank, peer) * size);
        in_count[peer]  = (int)(parts(peer, rank) * size);
        sent += out_count[peer];
        taken += in_count[peer];
    }
    out = allocate(sent);
    in  = allocate(taken);
    for (peer = 0; peer < ranks; ++peer) {
        pattern_fill(out + out_at[peer], out_count[peer], rank, round, peer);
    }
    MPI_Alltoallv(out, out_count, out_at, MPI_BYTE, in, in_count, in_at, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (peer = 0; peer < ranks; ++peer) {
        pattern_check("alltoallv", in + in_at[peer], in_count[peer], peer, round, rank);
    }
    free(out);
    free(in);
    free(counts);
}

static void broadcast(int rank, int ranks, size_t size, int round)
{
    unsigned char *data = allocate(size);
    int root            = round % ranks;

    if (rank == root) {
        pattern_fill(data, size, root, round, 0);
    }
    MPI_Bcast(data, (int)size, MPI_BYTE, root, MPI_COMM_WORLD);
    pattern_check("bcast", data, size, root, round, 0);
    free(data);
}

static void allreduce(int rank, int ranks, size_t size, int round)
{
    size_t count   = (size + sizeof(long) - 1) / sizeof(long), i;
    long *mine     = allocate(count * sizeof(long));
    long *together = allocate(count * sizeof(long));

    for (i = 0; i < count; ++i) {
        mine[i] = (long)i * (rank + 1) + round;
    }
    MPI_Allreduce(mine, together, (int)count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < count; ++i) {
        if (together[i] != (long)i * ranks * (ranks + 1) / 2 + (long)round * ranks) {
            fail("allreduce", rank, size, i);
        }
    }
    free(mine);
    free(together);
}

int main(int argc, char **argv)
{
    int rank, ranks, round = 0;
    size_t size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    for (size = 1; size <= MAX_SIZE; size *= 8, ++round) {
        broadcast(rank, ranks, size, round);
        if (size * ranks <= MAX_TOTAL) {
            allreduce(rank, ranks, size, round);
        }
        if (size * ranks * ranks <= MAX_TOTAL) {
            alltoall(rank, ranks, size, round);
            alltoallv(rank, ranks, size, round);
        }
    }
    if (ranks <= 4) {
        allreduce(rank, ranks, MAX_SIZE, round);
        broadcast(rank, ranks, MAX_SIZE, round);
    }
    if (rank == 0) {
        printf("collectives of %d ranks verified\n", ranks);
    }
    MPI_Finalize();
    return 0;
}
