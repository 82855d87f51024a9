/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * be_mpi_ring: every rank passes messages of growing size to the next, content checked, then all agree on
 * a sum. Prints one line.
 */
#include "check.h"

enum {
    MAX_SIZE = 1 << 20,
    ROUNDS   = 3
};

int main(int argc, char **argv)
{
    unsigned char *out, *in;
    int rank, ranks, round, token, sum;
    size_t size, bytes = 0;
    double start, elapsed;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = allocate(MAX_SIZE);
    in  = allocate(MAX_SIZE);

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (round = 0; round < ROUNDS; ++round) {
        for (size = 1; size <= MAX_SIZE; size *= 4) {
            pattern_fill(out, size, rank, round, 0);
            MPI_Sendrecv(out, (int)size, MPI_BYTE, (rank + 1) % ranks, round, in,
                         (int)size, MPI_BYTE, (rank + ranks - 1) % ranks, round,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            pattern_check("ring", in, size, (rank + ranks - 1) % ranks, round, 0);
            bytes += size;
        }
    }
    elapsed = MPI_Wtime() - start;

    token = rank + 1;
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks * (ranks + 1) / 2) {
        fail("allreduce", rank, sizeof(sum), 0);
    }
    if (rank == 0) {
        printf("ring of %d ranks: %d rounds of 1 B to 1 MiB, %.1f MB a rank in %.1f ms, "
               "content verified\n",
               ranks, ROUNDS, (double)bytes / 1e6, elapsed * 1e3);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
