/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's results in UCX's words. */
#ifndef UCX_BE_STATUS_H
#define UCX_BE_STATUS_H

#include "compat.h"

#include <engine/c_api.h>

/* What an operation that failed for good is reported as. */
ucs_status_t uct_be_error(be_status_t status);

static UCS_F_ALWAYS_INLINE ucs_status_t uct_be_status(be_status_t status)
{
    if (ucs_likely(status == BE_OK)) {
        return UCS_OK;
    } else if (status == BE_INPROGRESS) {
        return UCS_INPROGRESS;
    } else if (status == BE_ERR_NO_RESOURCE) {
        return UCS_ERR_NO_RESOURCE;
    }

    return uct_be_error(status);
}

#endif
