/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * be_mpi_faults STOP ROUNDS: messages and puts from everybody to everybody, content checked, in rounds, until the file
 * STOP is there. The number of rounds that are over goes into the file ROUNDS, for whoever breaks things meanwhile.
 */
#include "exchange.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    SLOT = 30011
}; /* bytes of each rank's part of the window: no power of two, several pieces */

/* Short, packed, and by rendezvous. */
static const size_t sizes[] = {8, 1021, 7001, 100003};

static int stop_asked(const char *stop, const char *progress, int rank, int round)
{
    int answer = 0, file;
    char text[24];

    if (rank == 0) {
        answer = access(stop, F_OK) == 0;
        file   = open(progress, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        snprintf(text, sizeof(text), "%011d\n", round);
        if ((file < 0) || (pwrite(file, text, 12, 0) != 12)) {
            perror(progress);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        close(file);
    }
    MPI_Bcast(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return answer;
}

int main(int argc, char **argv)
{
    unsigned char *window, *mine;
    int rank, ranks, round = 0;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) {
        fprintf(stderr, "be_mpi_faults: %d arguments, expected STOP ROUNDS\n", argc - 1);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    mine = allocate(SLOT);
    MPI_Win_allocate((MPI_Aint)ranks * SLOT, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                     &win);

    do {
        alltoall(rank, ranks, sizes[round % (sizeof(sizes) / sizeof(sizes[0]))], round);
        put_to_all(win, window, SLOT, mine, rank, ranks, round);
        ++round;
    } while (!stop_asked(argv[1], argv[2], rank, round));

    MPI_Win_free(&win);
    free(mine);
    if (rank == 0) {
        printf("%d rounds of %d ranks verified\n", round, ranks);
    }
    MPI_Finalize();
    return 0;
}
