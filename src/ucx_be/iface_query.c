/* SPDX-License-Identifier: BSD-3-Clause */
/* What an interface can do, how fast, and where it is. */
#include "iface.h"

/*
 * CPU time of one operation in seconds, from which UCP derives its protocol thresholds. Devices:
 * what UCX assumes for verbs. The software device copies on the caller's time.
 */
#define OVERHEAD_HARDWARE 75e-9
#define OVERHEAD_SOFT     300e-9

ucs_status_t uct_be_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    uct_be_iface_t *iface        = ucs_derived_of(tl_iface, uct_be_iface_t);
    const be_fabric_attr_t *caps = &iface->attr;

    uct_base_iface_query(&iface->super, attr);

    attr->iface_addr_len  = BE_FABRIC_ADDR_LEN;
    attr->device_addr_len = BE_DEVICE_ADDR_LEN;

    attr->cap.flags = UCT_IFACE_FLAG_CONNECT_TO_IFACE | UCT_IFACE_FLAG_AM_SHORT |
                      UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_PUT_SHORT |
                      UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_GET_BCOPY |
                      UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CB_SYNC |
                      UCT_IFACE_FLAG_EP_CHECK | UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE;
    if (caps->zero_copy) {
        attr->cap.flags |= UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PUT_ZCOPY |
                           UCT_IFACE_FLAG_GET_ZCOPY;
    }
    if (!iface->port.soft) {
        attr->cap.flags |= UCT_BE_IFACE_FLAG_INTER_NODE;
    }
    attr->cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP | UCT_IFACE_FLAG_EVENT_RECV |
                            UCT_IFACE_FLAG_EVENT_FD;

    attr->cap.am.max_short       = caps->max_short;
    attr->cap.am.max_bcopy       = caps->max_bcopy;
    attr->cap.am.max_zcopy       = caps->max_zcopy;
    attr->cap.am.max_hdr         = BE_AM_MAX_HEADER;
    attr->cap.am.max_iov         = caps->max_iov;
    attr->cap.am.opt_zcopy_align = 1;
    attr->cap.am.align_mtu       = 1;

    attr->cap.put.max_short       = caps->max_short;
    attr->cap.put.max_bcopy       = caps->max_bcopy;
    attr->cap.put.max_zcopy       = caps->max_rma;
    attr->cap.put.max_iov         = caps->max_iov;
    attr->cap.put.opt_zcopy_align = 1;
    attr->cap.put.align_mtu       = 1;

    attr->cap.get.max_bcopy       = caps->max_bcopy;
    attr->cap.get.max_zcopy       = caps->max_rma;
    attr->cap.get.max_iov         = caps->max_iov;
    attr->cap.get.opt_zcopy_align = 1;
    attr->cap.get.align_mtu       = 1;

    attr->latency             = ucs_linear_func_make(iface->port.latency, 0);
    attr->bandwidth.dedicated = 0;
    attr->bandwidth.shared    = iface->port.bandwidth;
    attr->overhead            = iface->port.soft ? OVERHEAD_SOFT : OVERHEAD_HARDWARE;
    attr->priority            = 0;
    return UCS_OK;
}

ucs_status_t uct_be_iface_get_address(uct_iface_h tl_iface, uct_iface_addr_t *addr)
{
    be_fabric_address(ucs_derived_of(tl_iface, uct_be_iface_t)->fabric, (uint8_t *)addr);
    return UCS_OK;
}

ucs_status_t
uct_be_iface_get_device_address(uct_iface_h tl_iface, uct_device_addr_t *addr)
{
    be_fabric_device_address(ucs_derived_of(tl_iface, uct_be_iface_t)->fabric,
                             (uint8_t *)addr);
    return UCS_OK;
}

int uct_be_iface_is_reachable(const uct_iface_h tl_iface,
                              const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);

    return (dev_addr != NULL) &&
           be_fabric_is_reachable(iface->fabric, (const uint8_t *)dev_addr, NULL, 0);
}

#ifdef UCT_BE_REACHABLE_V2
int uct_be_iface_is_reachable_v2(const uct_iface_h tl_iface,
                                 const uct_iface_is_reachable_params_t *params)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    uint8_t local[BE_DEVICE_ADDR_LEN];
    size_t why_size;
    char *why;

    why = uct_be_reachable_why(params, &why_size);
    if (!(params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR) ||
        (params->device_addr == NULL)) {
        if (why != NULL) {
            snprintf(why, why_size, "no device address given");
        }
        return 0;
    }

    if (!be_fabric_is_reachable(iface->fabric, (const uint8_t *)params->device_addr, why,
                                why_size)) {
        return 0;
    }

    be_fabric_device_address(iface->fabric, local);
    return uct_be_reachable_scope(params, local, sizeof(local));
}
#endif
