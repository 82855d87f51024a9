// SPDX-License-Identifier: BSD-3-Clause
//
// The C facade of peers: links, that is. be_am_short() is in messages.cpp, in one piece with what it does.

#include "engine/c_guard.hpp"

using namespace be::engine;

be_status_t be_peer_get(be_fabric_t *fabric, const uint8_t address[BE_FABRIC_ADDR_LEN],
                        be_peer_t **peer_p)
{
    return guarded("connecting", [&] {
        const auto remote = FabricAddress::decode(
                std::span<const std::uint8_t, BE_FABRIC_ADDR_LEN>(address,
                                                                  BE_FABRIC_ADDR_LEN));
        if (!remote) {
            log(BE_LOG_ERROR,
                "cannot connect: the interface address is malformed or of another "
                "version of this transport (first byte {:#x})",
                address[0]);
            return BE_ERR_INVALID;
        }
        Member &member        = member_of(fabric);
        const std::string why = member.fabric().address().device.unreachable_because(
                remote->device);
        if (!why.empty()) {
            log(BE_LOG_ERROR, "cannot connect to fabric {:016x} at {}: {}",
                remote->identity.fabric_id, remote->control.to_string(), why);
            return BE_ERR_UNREACHABLE;
        }
        be_status_t status = BE_OK;
        *peer_p            = Locked(member.fabric())->connect(member, *remote, &status);
        return status;
    });
}

void be_peer_put(be_peer_t *peer)
{
    Locked(link_of(peer))->release(link_of(peer));
}

be_status_t be_peer_status(const be_peer_t *peer)
{
    return Locked(link_of(peer))->status(link_of(peer));
}

int be_peer_can_send(be_peer_t *peer)
{
    return Locked(link_of(peer))->can_send(link_of(peer));
}

void be_peer_demand(be_peer_t *peer, int change)
{
    Locked(link_of(peer))->demand(link_of(peer), change);
}

be_status_t be_peer_check(be_peer_t *peer)
{
    Locked(link_of(peer))->probe(link_of(peer));
    return BE_OK;
}

be_status_t
be_am_short_iov(be_peer_t *peer, uint8_t am_id, const be_sge_t *iov, size_t iovcnt)
{
    return Locked(link_of(peer))->send_short(link_of(peer), am_id, iov, iovcnt);
}

ssize_t be_am_bcopy(be_peer_t *peer, uint8_t am_id, be_pack_func_t pack, void *arg)
{
    return Locked(link_of(peer))->send_packed(link_of(peer), am_id, pack, arg);
}

be_status_t be_am_zcopy(be_peer_t *peer, uint8_t am_id, const void *header,
                        unsigned header_length, const be_sge_t *iov, size_t iovcnt,
                        void *comp)
{
    return Locked(link_of(peer))
            ->send_zero_copy(link_of(peer), am_id, header, header_length, iov, iovcnt,
                             comp);
}

be_status_t be_put_short(be_peer_t *peer, const void *data, unsigned length,
                         uint64_t remote, uint32_t rkey)
{
    return Locked(link_of(peer))->put_short(link_of(peer), data, length, remote, rkey);
}

ssize_t be_put_bcopy(be_peer_t *peer, be_pack_func_t pack, void *arg, uint64_t remote,
                     uint32_t rkey)
{
    return Locked(link_of(peer))->put_packed(link_of(peer), pack, arg, remote, rkey);
}

be_status_t be_put_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp)
{
    return Locked(link_of(peer))
            ->transfer(link_of(peer), BulkOperation::Kind::put, iov, iovcnt, remote, rkey,
                       comp);
}

be_status_t be_get_bcopy(be_peer_t *peer, void *unpack_func, void *unpack_arg,
                         size_t length, uint64_t remote, uint32_t rkey, void *comp)
{
    return Locked(link_of(peer))
            ->get_unpacked(link_of(peer), unpack_func, unpack_arg, length, remote, rkey,
                           comp);
}

be_status_t be_get_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp)
{
    return Locked(link_of(peer))
            ->transfer(link_of(peer), BulkOperation::Kind::get, iov, iovcnt, remote, rkey,
                       comp);
}

be_status_t be_peer_flush(be_peer_t *peer, void *comp)
{
    return Locked(link_of(peer))->flush(link_of(peer), comp);
}

void be_peer_fence(be_peer_t *peer)
{
    Locked(link_of(peer))->fence(link_of(peer));
}

void be_peer_metrics(const be_peer_t *peer, be_metric_func_t func, void *arg)
{
    Locked(link_of(peer))->link_metrics(link_of(peer), func, arg);
}

void be_peer_path(const be_peer_t *peer, char *text, size_t size)
{
    const Locked lock(link_of(peer));
    copy_text(text, size, path_text(link_of(peer).peer));
}

const char *be_peer_name(const be_peer_t *peer)
{
    return link_of(peer).peer.name.c_str();
}

const char *be_peer_failure(const be_peer_t *peer)
{
    // Neither changes once it is set, which was before anybody heard of it.
    return link_of(peer).gone ? "its interface was closed" :
                                link_of(peer).peer.why.c_str();
}

int be_peer_departed(const be_peer_t *peer)
{
    return !link_of(peer).gone && link_of(peer).peer.departed;
}
