/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 10^5 eager messages to rank 0 before it receives the first: they stay in buffers that the transport must replace, up
 * to its cap, and beyond that be copied out.
 */
#include "check.h"

#include <string.h>

enum {
    TOTAL = 100000,
    SIZE  = 64,
    DONE  = 7
};

int main(int argc, char **argv)
{
    unsigned char data[SIZE];
    int rank, ranks, each, number, from;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    each = TOTAL / ((ranks > 1) ? ranks - 1 : 1);

    if (rank != 0) {
        for (number = 0; number < each; ++number) {
            pattern_fill(data, SIZE, rank, number, 0);
            memcpy(data, &number, sizeof(number));
            MPI_Send(data, SIZE, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        MPI_Send(&each, 1, MPI_INT, 0, DONE, MPI_COMM_WORLD);
    } else {
        /* Everything of tag 1 is there, unexpected, when these have come. */
        for (from = 1; from < ranks; ++from) {
            MPI_Recv(&number, 1, MPI_INT, from, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (from = 1; from < ranks; ++from) {
            for (number = 0; number < each; ++number) {
                int got;

                MPI_Recv(data, SIZE, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                memcpy(&got, data, sizeof(got));
                if (got != number) {
                    fail("order of unexpected messages", from, (size_t)got,
                         (size_t)number);
                }
                pattern_check("unexpected", data + sizeof(got), SIZE - sizeof(got), from,
                              number, sizeof(got));
            }
        }
        printf("%d unexpected messages from %d ranks verified\n", each * (ranks - 1),
               ranks - 1);
    }
    MPI_Finalize();
    return 0;
}
