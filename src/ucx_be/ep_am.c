/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages. */
#include "ep.h"
#include "iov.h"
#include "op.h"

ucs_status_t uct_be_ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                                const void *payload, unsigned length)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    ucs_status_t status;

    UCT_CHECK_AM_ID(id);
    UCT_CHECK_LENGTH(sizeof(header) + length, 0, uct_be_ep_iface(ep)->attr.max_short,
                     "am_short");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    status = uct_be_ep_sent(ep, be_am_short(ep->peer, id, header, payload, length));
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, AM, SHORT, sizeof(header) + length);
    return status;
}

ucs_status_t
uct_be_ep_am_short_iov(uct_ep_h tl_ep, uint8_t id, const uct_iov_t *iov, size_t iovcnt)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    be_sge_t sge[BE_MAX_SGE];
    ucs_status_t status;
    size_t count;

    UCT_CHECK_AM_ID(id);
    UCT_CHECK_IOV_SIZE(iovcnt, uct_be_ep_iface(ep)->attr.max_iov, "am_short_iov");
    UCT_CHECK_LENGTH(uct_iov_total_length(iov, iovcnt), 0,
                     uct_be_ep_iface(ep)->attr.max_short, "am_short_iov");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    count = uct_be_iov_to_sge(iov, iovcnt, sge);

    status = uct_be_ep_sent(ep, be_am_short_iov(ep->peer, id, sge, count));
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, AM, SHORT,
                                 uct_iov_total_length(iov, iovcnt));
    return status;
}

ssize_t uct_be_ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                           void *arg, unsigned flags)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    ucs_status_t status;
    ssize_t length;

    UCT_CHECK_AM_ID(id);
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    length = be_am_bcopy(ep->peer, id, pack_cb, arg);
    status = uct_be_ep_sent(ep, (length < 0) ? (be_status_t)length : BE_OK);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    UCT_TL_EP_STAT_OP(&ep->super, AM, BCOPY, length);
    return length;
}

typedef struct {
    const void *header;
    size_t header_length;
    const uct_iov_t *iov;
    size_t iovcnt;
} gather_t;

/* Where there is nothing, `from` may be NULL. */
static void *add(void *end, const void *from, size_t length)
{
    return (length == 0) ? end : mempcpy(end, from, length);
}

static size_t pack_gather(void *dest, void *arg)
{
    const gather_t *gather = arg;
    uint8_t *end           = add(dest, gather->header, gather->header_length);
    size_t i;

    for (i = 0; i < gather->iovcnt; ++i) {
        end = add(end, uct_iov_get_buffer(&gather->iov[i]),
                  uct_iov_get_length(&gather->iov[i]));
    }
    return end - (uint8_t *)dest;
}

/* am_zcopy of memory that the device could not register. */
static ucs_status_t am_copied(uct_be_ep_t *ep, uint8_t id, gather_t *gather)
{
    const ssize_t length = be_am_bcopy(ep->peer, id, pack_gather, gather);
    ucs_status_t status;

    status = uct_be_ep_sent(ep, (length < 0) ? (be_status_t)length : BE_OK);
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, AM, BCOPY, length);
    return status;
}

ucs_status_t uct_be_ep_am_zcopy(uct_ep_h tl_ep, uint8_t id, const void *header,
                                unsigned header_length, const uct_iov_t *iov,
                                size_t iovcnt, unsigned flags, uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    be_sge_t sge[BE_MAX_SGE];
    ucs_status_t status;
    be_status_t result;
    uct_be_op_t *op;
    size_t count;

    UCT_CHECK_AM_ID(id);
    UCT_CHECK_IOV_SIZE(iovcnt, uct_be_ep_iface(ep)->attr.max_iov, "am_zcopy");
    UCT_CHECK_LENGTH(header_length, 0, BE_AM_MAX_HEADER, "am_zcopy header");
    UCT_CHECK_LENGTH(header_length + uct_iov_total_length(iov, iovcnt), 0,
                     uct_be_ep_iface(ep)->attr.max_zcopy, "am_zcopy");
    UCT_CHECK_PARAM(uct_be_iov_allows(iov, iovcnt, ~0u),
                    "am_zcopy: a buffer is not registered");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    if (ucs_unlikely(!uct_be_iov_is_pinned(iov, iovcnt))) {
        gather_t gather = {header, header_length, iov, iovcnt};

        return am_copied(ep, id, &gather);
    }

    op = uct_be_op_get(ep, UCT_BE_OP_ZCOPY, comp);
    if (ucs_unlikely(op == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    count  = uct_be_iov_to_sge(iov, iovcnt, sge);
    result = be_am_zcopy(ep->peer, id, header, header_length, sge, count, op);
    uct_be_op_started(op, result);
    status = uct_be_ep_sent(ep, result);
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, AM, ZCOPY,
                                 header_length + uct_iov_total_length(iov, iovcnt));
    return status;
}
