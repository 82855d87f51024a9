/* SPDX-License-Identifier: BSD-3-Clause */
/* UCT's scatter-gather entries as the engine's. */
#ifndef UCX_BE_IOV_H
#define UCX_BE_IOV_H

#include "md.h"

/* Entries without data are left out. Returns the number of entries; `sge` has room for `iovcnt`. */
static UCS_F_ALWAYS_INLINE size_t uct_be_iov_to_sge(const uct_iov_t *iov, size_t iovcnt,
                                                    be_sge_t *sge)
{
    const uct_be_mem_t *memh;
    size_t i, count = 0;

    for (i = 0; i < iovcnt; ++i) {
        sge[count].length = uct_iov_get_length(&iov[i]);
        if (sge[count].length == 0) {
            continue;
        }

        memh               = iov[i].memh;
        sge[count].address = uct_iov_get_buffer(&iov[i]);
        sge[count].lkey    = (memh == UCT_MEM_HANDLE_NULL) ? 0 : memh->mem.lkey;
        ++count;
    }

    return count;
}

/* 1: every entry with data is registered with at least one of the rights. */
static UCS_F_ALWAYS_INLINE int
uct_be_iov_allows(const uct_iov_t *iov, size_t iovcnt, unsigned access)
{
    const uct_be_mem_t *memh;
    size_t i;

    for (i = 0; i < iovcnt; ++i) {
        memh = iov[i].memh;
        if ((uct_iov_get_length(&iov[i]) != 0) &&
            ((memh == UCT_MEM_HANDLE_NULL) || !(memh->access & access))) {
            return 0;
        }
    }

    return 1;
}

/* 1: the device can reach all of it. */
static UCS_F_ALWAYS_INLINE int uct_be_iov_is_pinned(const uct_iov_t *iov, size_t iovcnt)
{
    const uct_be_mem_t *memh;
    size_t i;

    for (i = 0; i < iovcnt; ++i) {
        memh = iov[i].memh;
        if ((memh != UCT_MEM_HANDLE_NULL) && (memh->access == UCT_BE_ACCESS_COPY)) {
            return 0;
        }
    }

    return 1;
}

#endif
