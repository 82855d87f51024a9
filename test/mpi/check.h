/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI tests share: content that can be checked, and one way to fail. */
#ifndef TEST_MPI_CHECK_H
#define TEST_MPI_CHECK_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* The byte that belongs at `index` of what `rank` sends in `round`. */
static inline unsigned char pattern_byte(int rank, int round, size_t index)
{
    return (unsigned char)(index * 131 + (index >> 8) * 17 + (size_t)rank * 59 +
                           (size_t)round * 7 + 3);
}

static inline void
pattern_fill(unsigned char *data, size_t length, int rank, int round, size_t first)
{
    size_t i;

    for (i = 0; i < length; ++i) {
        data[i] = pattern_byte(rank, round, first + i);
    }
}

static inline void fail(const char *what, int rank, size_t size, size_t index)
{
    fprintf(stderr, "FAIL %s: rank %d, size %zu, at %zu\n", what, rank, size, index);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void pattern_check(const char *what, const unsigned char *data,
                                 size_t length, int rank, int round, size_t first)
{
    size_t i;

    for (i = 0; i < length; ++i) {
        if (data[i] != pattern_byte(rank, round, first + i)) {
            fail(what, rank, length, i);
        }
    }
}

static inline void *allocate(size_t size)
{
    void *memory = malloc(size == 0 ? 1 : size);

    if (memory == NULL) {
        fail("out of memory", -1, size, 0);
    }
    return memory;
}

#endif
