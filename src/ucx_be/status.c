/* SPDX-License-Identifier: BSD-3-Clause */
#include "status.h"

ucs_status_t uct_be_error(be_status_t status)
{
    switch (status) {
    case BE_ERR_NO_MEMORY:
        return UCS_ERR_NO_MEMORY;
    case BE_ERR_INVALID:
        return UCS_ERR_INVALID_PARAM;
    case BE_ERR_UNREACHABLE:
        return UCS_ERR_UNREACHABLE;
    case BE_ERR_PEER_FAILED:
        /* What UCX's verbs transports report when a peer no longer answers. */
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case BE_ERR_BUSY:
        return UCS_ERR_BUSY;
    case BE_ERR_CANCELED:
        return UCS_ERR_CANCELED;
    case BE_ERR_NO_DEVICE:
        return UCS_ERR_NO_DEVICE;
    case BE_ERR_UNSUPPORTED:
        return UCS_ERR_UNSUPPORTED;
    default:
        return UCS_ERR_IO_ERROR;
    }
}
