/* SPDX-License-Identifier: BSD-3-Clause */
/* Arriving active messages. */
#include "iface.h"

/*
 * In front of a payload that the user may keep are the user's headroom and, before that, a pointer
 * to what gives the payload back (uct_recv_desc(), unaligned if the user asked for an odd offset).
 */
static void desc_prepare(uct_be_iface_t *iface, void *data)
{
    void *desc            = UCS_PTR_BYTE_OFFSET(data, -(ptrdiff_t)iface->rx_headroom);
    uct_recv_desc_t *self = &iface->release_desc;

    memcpy(UCS_PTR_BYTE_OFFSET(desc, -(ptrdiff_t)sizeof(self)), &self, sizeof(self));
}

be_rx_result_t
uct_be_iface_handle_am(void *arg, uint8_t am_id, void *data, size_t length, int keep)
{
    uct_be_iface_t *iface = arg;
    unsigned flags        = 0;
    ucs_status_t status;

    if (ucs_unlikely(am_id >= UCT_AM_ID_MAX)) {
        /* From the wire: a peer with another idea of UCT. */
        ucs_debug("be: dropped a message with id %u, expected less than %u", am_id,
                  (unsigned)UCT_AM_ID_MAX);
        return BE_RX_DONE;
    }

    if (keep) {
        desc_prepare(iface, data);
        flags = UCT_CB_PARAM_FLAG_DESC;
    }

    uct_iface_trace_am(&iface->super, UCT_AM_TRACE_TYPE_RECV, am_id, data, length,
                       "RX: AM");
    status = uct_iface_invoke_am(&iface->super, am_id, data, length, flags);
    return (status == UCS_INPROGRESS) ? BE_RX_KEPT : BE_RX_DONE;
}

void uct_be_iface_release_desc(uct_recv_desc_t *self, void *desc)
{
    uct_be_iface_t *iface = ucs_container_of(self, uct_be_iface_t, release_desc);

    be_rx_release(iface->fabric, UCS_PTR_BYTE_OFFSET(desc, iface->rx_headroom));
}
