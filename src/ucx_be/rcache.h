/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cache of registrations: UCP 1.13 registers user memory for every message, and a registration
 * costs as much as tens of messages. UCX's own cache watches for memory that is unmapped. What is added
 * here: when the device or the system refuses a registration, those that nobody uses go first.
 */
#ifndef UCX_BE_RCACHE_H
#define UCX_BE_RCACHE_H

#include "md.h"

ucs_status_t uct_be_rcache_create(uct_be_md_t *md, const uct_be_md_config_t *config);
void uct_be_rcache_destroy(uct_be_md_t *md);

ucs_status_t uct_be_rcache_register(uct_be_md_t *md, void *address, size_t length,
                                    int quiet, uct_be_mem_t **memh_p);

/* `invalidated`, when not NULL: the registration ends with its last user, then this is completed. */
void uct_be_rcache_release(uct_be_md_t *md, uct_be_mem_t *memh,
                           uct_completion_t *invalidated);

/* Links the cache into UCX's virtual file system. */
void uct_be_rcache_vfs_init(uct_be_md_t *md);

/* Seconds of a lookup. */
double uct_be_rcache_overhead(void);

#endif
