/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator for C and other languages: see <byteexpress/allocator.hpp>.
 *
 * Threads: every function, any thread. An allocator outlives what was allocated from it.
 */
#ifndef BYTEEXPRESS_MEMORY_H
#define BYTEEXPRESS_MEMORY_H

#include <byteexpress/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for the network: be::Allocator. */
typedef struct be_allocator be_allocator_t;

/* What an allocator is made with. */
typedef struct be_allocator_params {
    size_t struct_size; /* sizeof(be_allocator_params_t): newer libraries know older callers */
    /* Both NULL: ordinary memory. `map` returns 0 and sets *handle, or an errno value. */
    int (*map)(void *arg, void *address, size_t length, void **handle);
    void (*unmap)(void *arg, void *handle); /* undoes `map` */
    void *arg; /* for `map` and `unmap` */
    const char *owner; /* name in statistics and reports; NULL: "application" */
    size_t region; /* bytes of a region, at most; 0: 64 MiB */
    size_t limit; /* bytes mapped, at most; 0: none */
    size_t receive_reserve; /* bytes that only owners that receive get */
    int numa_node; /* -1: any; -2: that of the calling thread */
    int no_huge_pages; /* not 0: ordinary pages only */
    int debug; /* not 0: red zones, double free, use after free */
} be_allocator_params_t;

/* What an allocator has, and has done since it was made. */
typedef struct be_allocator_stats {
    size_t mapped; /* bytes in regions */
    size_t mapped_peak; /* bytes */
    size_t live; /* bytes in blocks that are out, as rounded */
    size_t cached; /* bytes in the caches of threads */
    uint64_t maps; /* calls of `map` */
    uint64_t failures; /* allocations that got nothing */
} be_allocator_stats_t;

/* Sets the defaults. */
BE_API void be_allocator_params_init(be_allocator_params_t *params);

/* 0, or an errno value: EINVAL (a parameter), ENOMEM (the reserve cannot be had). `why`, when not
 * NULL, gets a text. `params` NULL: defaults. */
BE_API int be_allocator_create(const be_allocator_params_t *params,
                               be_allocator_t **allocator, char *why, size_t why_size);
/* Everything that was allocated from it is gone. NULL is harmless. */
BE_API void be_allocator_destroy(be_allocator_t *allocator);

/* NULL: no memory. `align`: a power of two, 0 for a cache line. */
BE_API void *be_alloc(be_allocator_t *allocator, size_t size, size_t align);
/* NULL is harmless. */
BE_API void be_free(be_allocator_t *allocator, void *address);
/* Faster: with what it was allocated with. */
BE_API void
be_free_sized(be_allocator_t *allocator, void *address, size_t size, size_t align);

/* 0: not of this allocator. *handle: what `map` gave for the region that `address` lies in. */
BE_API int
be_allocator_find(be_allocator_t *allocator, const void *address, void **handle);

/* Sets *stats. */
BE_API void be_allocator_stats(be_allocator_t *allocator, be_allocator_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
