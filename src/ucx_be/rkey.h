/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote keys on the wire and in uct_rkey_t.
 *
 * A packed key comes from another process, so it is checked before use: a key of another
 * transport or version is refused when it is unpacked, and rights that the owner did not give are
 * refused at the initiator, because the device would answer by breaking the connection that all
 * endpoints to that peer share.
 */
#ifndef UCX_BE_RKEY_H
#define UCX_BE_RKEY_H

#include "compat.h"

#include <engine/c_api.h>

enum {
    UCT_BE_RKEY_PACKED_SIZE = 12
};

void uct_be_rkey_pack(const be_mem_t *mem, unsigned access, void *buffer);

/* UCS_ERR_INVALID_PARAM: not a key of ours. UCS_ERR_UNREACHABLE: of memory that the peer could not register; UCP then goes
 * another way. */
ucs_status_t uct_be_rkey_unpack_buffer(const void *buffer, uct_rkey_t *rkey_p);

/* uct_rkey_t: the verbs key below, the BE_ACCESS_xx rights above. */
enum {
    UCT_BE_RKEY_ACCESS_SHIFT = 32
};

static UCS_F_ALWAYS_INLINE uint32_t uct_be_rkey_verbs(uct_rkey_t rkey)
{
    return (uint32_t)rkey;
}

static UCS_F_ALWAYS_INLINE int uct_be_rkey_allows(uct_rkey_t rkey, unsigned access)
{
    return ((rkey >> UCT_BE_RKEY_ACCESS_SHIFT) & access) != 0;
}

#endif
