/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory access. */
#include "ep.h"
#include "iov.h"
#include "log.h"
#include "op.h"
#include "rkey.h"

#include <stdio.h>

#define CHECK_RKEY(_rkey, _access, _name)                                     \
    UCT_CHECK_PARAM(uct_be_rkey_allows(_rkey, _access),                       \
                    _name ": the remote key does not allow it (rights 0x%x)", \
                    (unsigned)((_rkey) >> UCT_BE_RKEY_ACCESS_SHIFT))

/* Nothing to transfer, but it must be noticed if the peer is gone. */
static ucs_status_t ep_probe(uct_be_ep_t *ep)
{
    ucs_status_t status;

    status = uct_be_ep_sent(ep, be_put_zcopy(ep->peer, NULL, 0, 0, 0, NULL));
    return (status == UCS_INPROGRESS) ? UCS_OK : status;
}

/* The device must reach it. */
static ucs_status_t check_pinned(const uct_iov_t *iov, size_t iovcnt, const char *name)
{
    char text[128];

    if (ucs_likely(uct_be_iov_is_pinned(iov, iovcnt))) {
        return UCS_OK;
    }

    snprintf(
            text, sizeof(text),
            "%s of %zu bytes: not all of them could be registered, no more memory may be "
            "locked",
            name, uct_iov_total_length(iov, iovcnt));
    uct_be_log(BE_LOG_ERROR, text);
    return UCS_ERR_NO_MEMORY;
}

ucs_status_t uct_be_ep_put_short(uct_ep_h tl_ep, const void *buffer, unsigned length,
                                 uint64_t remote_addr, uct_rkey_t rkey)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    ucs_status_t status;

    UCT_CHECK_LENGTH(length, 0, uct_be_ep_iface(ep)->attr.max_short, "put_short");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    if (ucs_unlikely(length == 0)) {
        return ep_probe(ep);
    }

    CHECK_RKEY(rkey, BE_ACCESS_REMOTE_PUT, "put_short");
    status = uct_be_ep_sent(ep, be_put_short(ep->peer, buffer, length, remote_addr,
                                             uct_be_rkey_verbs(rkey)));
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, PUT, SHORT, length);
    return status;
}

ssize_t uct_be_ep_put_bcopy(uct_ep_h tl_ep, uct_pack_callback_t pack_cb, void *arg,
                            uint64_t remote_addr, uct_rkey_t rkey)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    ucs_status_t status;
    ssize_t length;

    CHECK_RKEY(rkey, BE_ACCESS_REMOTE_PUT, "put_bcopy");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    length = be_put_bcopy(ep->peer, pack_cb, arg, remote_addr, uct_be_rkey_verbs(rkey));
    status = uct_be_ep_sent(ep, (length < 0) ? (be_status_t)length : BE_OK);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    UCT_TL_EP_STAT_OP(&ep->super, PUT, BCOPY, length);
    return length;
}

ucs_status_t uct_be_ep_put_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov, size_t iovcnt,
                                 uint64_t remote_addr, uct_rkey_t rkey,
                                 uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    be_sge_t sge[BE_MAX_SGE];
    ucs_status_t status;
    be_status_t result;
    uct_be_op_t *op;
    size_t count;

    UCT_CHECK_IOV_SIZE(iovcnt, uct_be_ep_iface(ep)->attr.max_iov, "put_zcopy");
    UCT_CHECK_LENGTH(uct_iov_total_length(iov, iovcnt), 0,
                     uct_be_ep_iface(ep)->attr.max_rma, "put_zcopy");
    UCT_CHECK_PARAM(uct_be_iov_allows(iov, iovcnt, ~0u),
                    "put_zcopy: a buffer is not registered");
    status = check_pinned(iov, iovcnt, "put_zcopy");
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    count = uct_be_iov_to_sge(iov, iovcnt, sge);
    if (count > 0) {
        CHECK_RKEY(rkey, BE_ACCESS_REMOTE_PUT, "put_zcopy");
    }

    op = uct_be_op_get(ep, UCT_BE_OP_ZCOPY, comp);
    if (ucs_unlikely(op == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    result = be_put_zcopy(ep->peer, sge, count, remote_addr, uct_be_rkey_verbs(rkey), op);
    uct_be_op_started(op, result);
    status = uct_be_ep_sent(ep, result);
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, PUT, ZCOPY,
                                 uct_iov_total_length(iov, iovcnt));
    return status;
}

ucs_status_t uct_be_ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack_cb,
                                 void *arg, size_t length, uint64_t remote_addr,
                                 uct_rkey_t rkey, uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    ucs_status_t status;
    be_status_t result;
    uct_be_op_t *op;

    UCT_CHECK_LENGTH(length, 0, uct_be_ep_iface(ep)->attr.max_bcopy, "get_bcopy");
    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    if (ucs_unlikely(length == 0)) {
        return ep_probe(ep);
    }

    CHECK_RKEY(rkey, BE_ACCESS_REMOTE_GET, "get_bcopy");
    op = uct_be_op_get(ep, UCT_BE_OP_GET, comp);
    if (ucs_unlikely(op == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    op->unpack     = unpack_cb;
    op->unpack_arg = arg;
    result         = be_get_bcopy(ep->peer, NULL, op, length, remote_addr,
                                  uct_be_rkey_verbs(rkey), op);
    uct_be_op_started(op, result);
    status = uct_be_ep_sent(ep, result);
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, GET, BCOPY, length);
    return status;
}

ucs_status_t uct_be_ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov, size_t iovcnt,
                                 uint64_t remote_addr, uct_rkey_t rkey,
                                 uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    be_sge_t sge[BE_MAX_SGE];
    ucs_status_t status;
    be_status_t result;
    uct_be_op_t *op;
    size_t count;

    UCT_CHECK_IOV_SIZE(iovcnt, uct_be_ep_iface(ep)->attr.max_iov, "get_zcopy");
    UCT_CHECK_LENGTH(uct_iov_total_length(iov, iovcnt), 0,
                     uct_be_ep_iface(ep)->attr.max_rma, "get_zcopy");
    UCT_CHECK_PARAM(uct_be_iov_allows(iov, iovcnt, BE_ACCESS_LOCAL | UCT_BE_ACCESS_COPY),
                    "get_zcopy: a buffer is not registered, or read-only");
    status = check_pinned(iov, iovcnt, "get_zcopy");
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    status = uct_be_ep_check_gate(ep);
    if (ucs_unlikely(status != UCS_OK)) {
        return status;
    }

    count = uct_be_iov_to_sge(iov, iovcnt, sge);
    if (count > 0) {
        CHECK_RKEY(rkey, BE_ACCESS_REMOTE_GET, "get_zcopy");
    }

    op = uct_be_op_get(ep, UCT_BE_OP_ZCOPY, comp);
    if (ucs_unlikely(op == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    result = be_get_zcopy(ep->peer, sge, count, remote_addr, uct_be_rkey_verbs(rkey), op);
    uct_be_op_started(op, result);
    status = uct_be_ep_sent(ep, result);
    UCT_TL_EP_STAT_OP_IF_SUCCESS(status, &ep->super, GET, ZCOPY,
                                 uct_iov_total_length(iov, iovcnt));
    return status;
}
