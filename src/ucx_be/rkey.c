/* SPDX-License-Identifier: BSD-3-Clause */
#include "rkey.h"

#include <endian.h>

enum {
    RKEY_VERSION = 1
};

static const char rkey_magic[4] = {'B', 'E', 'r', 'k'};

/* Little-endian. */
typedef struct {
    char magic[4];
    uint8_t version;
    uint8_t access; /* BE_ACCESS_xx */
    uint16_t reserved;
    uint32_t rkey;
} UCS_S_PACKED packed_rkey_t;

_Static_assert(sizeof(packed_rkey_t) == UCT_BE_RKEY_PACKED_SIZE, "size on the wire");
_Static_assert(sizeof(uct_rkey_t) == sizeof(uint64_t), "key and rights do not fit");

void uct_be_rkey_pack(const be_mem_t *mem, unsigned access, void *buffer)
{
    packed_rkey_t packed = {.version = RKEY_VERSION,
                            .access  = access,
                            .rkey    = htole32(mem->rkey)};

    memcpy(packed.magic, rkey_magic, sizeof(packed.magic));
    memcpy(buffer, &packed, sizeof(packed));
}

ucs_status_t uct_be_rkey_unpack_buffer(const void *buffer, uct_rkey_t *rkey_p)
{
    const unsigned known_access = BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT |
                                  BE_ACCESS_REMOTE_GET;
    packed_rkey_t packed;

    memcpy(&packed, buffer, sizeof(packed));
    if (memcmp(packed.magic, rkey_magic, sizeof(packed.magic)) != 0) {
        ucs_error(
                "be: not a remote key of this transport: it starts with %02x%02x%02x%02x",
                packed.magic[0] & 0xff, packed.magic[1] & 0xff, packed.magic[2] & 0xff,
                packed.magic[3] & 0xff);
        return UCS_ERR_INVALID_PARAM;
    }

    if (packed.version != RKEY_VERSION) {
        ucs_error("be: remote key of version %u, expected %d: the peer runs another "
                  "release",
                  packed.version, RKEY_VERSION);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((packed.access & ~known_access) || (packed.reserved != 0)) {
        ucs_error("be: remote key with unknown rights 0x%x or reserved bits 0x%x",
                  packed.access, le16toh(packed.reserved));
        return UCS_ERR_INVALID_PARAM;
    }

    if (packed.access == 0) {
        return UCS_ERR_UNREACHABLE;
    }

    *rkey_p = le32toh(packed.rkey) |
              ((uct_rkey_t)packed.access << UCT_BE_RKEY_ACCESS_SHIFT);
    return UCS_OK;
}
