// SPDX-License-Identifier: BSD-3-Clause
//
// The C facade: forwards to Device and Fabric, and stops exceptions.

#include "engine/c_api.h"

#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"
#include "verbs/error.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

using be::engine::BulkOperation;
using be::engine::Device;
using be::engine::DeviceAddress;
using be::engine::Fabric;
using be::engine::FabricAddress;
using be::engine::Link;
using be::engine::Member;

namespace {

Device *device(be_md_t *md)
{
    return static_cast<Device *>(md);
}

Member &member_of(be_fabric_t *fabric)
{
    return *static_cast<Member *>(fabric);
}

const Member &member_of(const be_fabric_t *fabric)
{
    return *static_cast<const Member *>(fabric);
}

Fabric &fabric_of(be_fabric_t *fabric)
{
    return member_of(fabric).fabric();
}

const Fabric &fabric_of(const be_fabric_t *fabric)
{
    return member_of(fabric).fabric();
}

Link &link_of(be_peer_t *peer)
{
    return *static_cast<Link *>(peer);
}

const Link &link_of(const be_peer_t *peer)
{
    return *static_cast<const Link *>(peer);
}

Fabric &fabric_of(const Link &link)
{
    return link.peer.fabric;
}

// Runs `body`, which returns a status; an exception is logged with `what` was being done.
template<typename Body>
be_status_t guarded(const char *what, Body &&body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        be::engine::log_line(BE_LOG_ERROR, std::string(what) + ": out of memory");
        return BE_ERR_NO_MEMORY;
    } catch (const std::exception &error) {
        be::engine::log(BE_LOG_ERROR, "{}: {}", what, error.what());
        return BE_ERR_IO;
    }
}

void copy_text(char *out, std::size_t size, const std::string &text)
{
    if (size != 0) {
        const std::size_t length = std::min(size - 1, text.size());
        std::memcpy(out, text.data(), length);
        out[length] = '\0';
    }
}

unsigned verbs_access(unsigned access)
{
    return ((access & BE_ACCESS_LOCAL) != 0 ? IBV_ACCESS_LOCAL_WRITE : 0) |
           ((access & BE_ACCESS_REMOTE_PUT) != 0 ?
                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE :
                    0) |
           ((access & BE_ACCESS_REMOTE_GET) != 0 ? IBV_ACCESS_REMOTE_READ : 0);
}

be_port_info_t to_c(const be::verbs::PortReport &report)
{
    be_port_info_t info{};
    copy_text(info.device, sizeof(info.device), report.device);
    copy_text(info.netdev, sizeof(info.netdev), report.netdev);
    copy_text(info.reason, sizeof(info.reason), report.reason);
    info.port      = report.port;
    info.soft      = report.soft;
    info.usable    = report.usable;
    info.numa_node = report.numa_node < 0 ? 0xff :
                                            static_cast<std::uint8_t>(report.numa_node);
    info.bandwidth = report.rate;
    // One way, small message: a soft device's shared memory, or a switch hop and two adapters.
    info.latency = report.soft ? 0.6e-6 : 1.0e-6;
    return info;
}

} // namespace

const char *be_status_string(be_status_t status)
{
    switch (status) {
    case BE_OK:
        return "ok";
    case BE_INPROGRESS:
        return "in progress";
    case BE_ERR_NO_RESOURCE:
        return "no resource now";
    case BE_ERR_NO_MEMORY:
        return "out of memory";
    case BE_ERR_INVALID:
        return "invalid argument";
    case BE_ERR_UNREACHABLE:
        return "peer cannot be reached";
    case BE_ERR_PEER_FAILED:
        return "peer failed";
    case BE_ERR_IO:
        return "device error";
    case BE_ERR_BUSY:
        return "busy";
    case BE_ERR_CANCELED:
        return "canceled";
    case BE_ERR_NO_DEVICE:
        return "no device";
    case BE_ERR_UNSUPPORTED:
        return "not supported";
    }
    return "unknown status";
}

be_status_t be_ports_query(be_soft_mode_t mode, be_port_info_t **ports_p,
                           unsigned *num_ports_p, char *why, size_t why_size)
{
    return guarded("looking for RDMA devices", [&] {
        const be::verbs::Discovery found = be::verbs::discover(
                be::engine::to_verbs(mode));
        copy_text(why, why_size, found.reason);
        *ports_p     = nullptr;
        *num_ports_p = static_cast<unsigned>(found.ports.size());
        if (found.ports.empty()) {
            return BE_ERR_NO_DEVICE;
        }
        *ports_p = new be_port_info_t[found.ports.size()];
        std::transform(found.ports.begin(), found.ports.end(), *ports_p, to_c);
        return BE_OK;
    });
}

void be_ports_release(be_port_info_t *ports)
{
    delete[] ports;
}

be_status_t be_md_open(const char *name, be_soft_mode_t mode, be_md_t **md_p)
{
    return guarded("opening an RDMA device", [&] {
        *md_p = new Device(name, be::engine::to_verbs(mode));
        return BE_OK;
    });
}

void be_md_close(be_md_t *md)
{
    delete device(md);
}

be_status_t be_mem_register(be_md_t *md, void *address, size_t length, unsigned access,
                            int quiet, be_mem_t *mem)
{
    int error   = 0;
    auto region = be::verbs::MemoryRegion::attempt(device(md)->pd(), address, length,
                                                   verbs_access(access), &error);
    if (!region) {
        if (!quiet) {
            be::engine::log(BE_LOG_ERROR, "{}: registering {} bytes at {} failed: {}{}",
                            device(md)->context().device(), length, address,
                            std::strerror(error), be::verbs::registration_hint(error));
        }
        return error == ENOMEM ? BE_ERR_NO_MEMORY : BE_ERR_IO;
    }
    auto *owner = new (std::nothrow) be::verbs::MemoryRegion(std::move(region));
    if (owner == nullptr) {
        return BE_ERR_NO_MEMORY;
    }
    *mem = {address, length, owner->lkey(), owner->rkey(), owner};
    return BE_OK;
}

be_status_t be_mem_deregister(be_md_t *, be_mem_t *mem)
{
    delete static_cast<be::verbs::MemoryRegion *>(mem->handle);
    mem->handle = nullptr;
    return BE_OK;
}

be_status_t be_mem_alloc(be_md_t *md, size_t length, be_mem_t *mem)
{
    return guarded("allocating registered memory", [&] {
        std::string why;
        const be::memory::Block block = device(md)->remote_memory().allocate(
                length, be::memory::Arena::default_alignment, &why);
        if (!block) {
            be::engine::log(BE_LOG_DEBUG, "{}", why);
            return BE_ERR_NO_MEMORY;
        }
        *mem = {block.address, block.length, block.lkey, block.rkey,
                new be::memory::Block(block)};
        return BE_OK;
    });
}

void be_mem_free(be_md_t *md, be_mem_t *mem)
{
    auto *block = static_cast<be::memory::Block *>(mem->handle);
    (void)device(md)->remote_memory().free(*block);
    delete block;
    mem->handle = nullptr;
}

void be_fabric_config_defaults(const be_port_info_t *port, be_fabric_config_t *config)
{
    *config                 = {};
    config->segment_size    = 8192;
    config->rx_capacity     = port->soft ? 1024 : 4096;
    config->rx_max          = 16384;
    config->tx_queue        = 256;
    config->chunk           = port->soft ? 1u << 20 : 64u << 10;
    config->window          = port->soft ? 16u << 20 : 1u << 20;
    config->max_inline      = port->soft ? 512 : 192;
    config->timeout         = 14;
    config->retry_count     = 6;
    config->gid_index       = -1;
    config->peer_timeout    = 30;
    config->connect_timeout = 10;
    config->am_alignment    = 1;
}

be_status_t be_fabric_create(be_md_t *md, uint8_t port, const be_fabric_config_t *config,
                             const be_fabric_callbacks_t *callbacks,
                             be_fabric_t **fabric_p)
{
    return guarded("starting on an RDMA port", [&] {
        *fabric_p = new Member(std::make_shared<Fabric>(*device(md), port, *config),
                               *callbacks);
        return BE_OK;
    });
}

void be_fabric_destroy(be_fabric_t *fabric)
{
    delete &member_of(fabric);
}

void be_fabric_query(const be_fabric_t *fabric, be_fabric_attr_t *attr)
{
    *attr = fabric_of(fabric).attributes();
}

void be_fabric_address(const be_fabric_t *fabric, uint8_t address[BE_FABRIC_ADDR_LEN])
{
    member_of(fabric).address().encode(
            std::span<std::uint8_t, BE_FABRIC_ADDR_LEN>(address, BE_FABRIC_ADDR_LEN));
}

void be_fabric_device_address(const be_fabric_t *fabric,
                              uint8_t address[BE_DEVICE_ADDR_LEN])
{
    fabric_of(fabric).address().device.encode(
            std::span<std::uint8_t, BE_DEVICE_ADDR_LEN>(address, BE_DEVICE_ADDR_LEN));
}

int be_fabric_is_reachable(const be_fabric_t *fabric,
                           const uint8_t device_address[BE_DEVICE_ADDR_LEN], char *why,
                           size_t why_size)
{
    const auto remote = DeviceAddress::decode(
            std::span<const std::uint8_t, BE_DEVICE_ADDR_LEN>(device_address,
                                                              BE_DEVICE_ADDR_LEN));
    const std::string reason =
            remote ? fabric_of(fabric).address().device.unreachable_because(*remote) :
                     "the device address is of another version of this transport";
    if (why != nullptr) {
        copy_text(why, why_size, reason);
    }
    return reason.empty();
}

unsigned be_fabric_progress(be_fabric_t *fabric)
{
    return member_of(fabric).progress();
}

int be_fabric_event_fd(const be_fabric_t *fabric)
{
    return member_of(fabric).event_fd();
}

be_status_t be_fabric_arm(be_fabric_t *fabric)
{
    return member_of(fabric).arm();
}

void be_rx_release(be_fabric_t *fabric, void *data)
{
    fabric_of(fabric).release_payload(data);
}

be_status_t be_fabric_flush(be_fabric_t *fabric, void *comp)
{
    return fabric_of(fabric).flush_all(member_of(fabric), comp);
}

void be_fabric_fence(be_fabric_t *fabric)
{
    fabric_of(fabric).fence_all(member_of(fabric));
}

be_status_t be_peer_get(be_fabric_t *fabric, const uint8_t address[BE_FABRIC_ADDR_LEN],
                        be_peer_t **peer_p)
{
    return guarded("connecting", [&] {
        const auto remote = FabricAddress::decode(
                std::span<const std::uint8_t, BE_FABRIC_ADDR_LEN>(address,
                                                                  BE_FABRIC_ADDR_LEN));
        if (!remote) {
            be::engine::log(
                    BE_LOG_ERROR,
                    "cannot connect: the interface address is malformed or of another "
                    "version of this transport (first byte {:#x})",
                    address[0]);
            return BE_ERR_INVALID;
        }
        const std::string why = fabric_of(fabric).address().device.unreachable_because(
                remote->device);
        if (!why.empty()) {
            be::engine::log(BE_LOG_ERROR, "cannot connect to fabric {:016x} at {}: {}",
                            remote->identity.fabric_id, remote->control.to_string(), why);
            return BE_ERR_UNREACHABLE;
        }
        be_status_t status = BE_OK;
        *peer_p = fabric_of(fabric).connect(member_of(fabric), *remote, &status);
        return status;
    });
}

void be_peer_put(be_peer_t *peer)
{
    fabric_of(link_of(peer)).release(link_of(peer));
}

be_status_t be_peer_status(const be_peer_t *peer)
{
    return link_of(peer).peer.status;
}

int be_peer_can_send(be_peer_t *peer)
{
    return fabric_of(link_of(peer)).can_send(link_of(peer));
}

void be_peer_demand(be_peer_t *peer, int change)
{
    fabric_of(link_of(peer)).demand(link_of(peer), change);
}

be_status_t be_peer_check(be_peer_t *peer)
{
    fabric_of(link_of(peer)).probe(link_of(peer));
    return BE_OK;
}

be_status_t be_am_short(be_peer_t *peer, uint8_t am_id, uint64_t header,
                        const void *payload, unsigned length)
{
    const be_sge_t parts[] = {{&header, sizeof(header), 0},
                              {const_cast<void *>(payload), length, 0}};
    return fabric_of(link_of(peer))
            .send_short(link_of(peer), am_id, parts, length != 0 ? 2 : 1);
}

be_status_t
be_am_short_iov(be_peer_t *peer, uint8_t am_id, const be_sge_t *iov, size_t iovcnt)
{
    return fabric_of(link_of(peer)).send_short(link_of(peer), am_id, iov, iovcnt);
}

ssize_t be_am_bcopy(be_peer_t *peer, uint8_t am_id, be_pack_func_t pack, void *arg)
{
    return fabric_of(link_of(peer)).send_packed(link_of(peer), am_id, pack, arg);
}

be_status_t be_am_zcopy(be_peer_t *peer, uint8_t am_id, const void *header,
                        unsigned header_length, const be_sge_t *iov, size_t iovcnt,
                        void *comp)
{
    return fabric_of(link_of(peer))
            .send_zero_copy(link_of(peer), am_id, header, header_length, iov, iovcnt,
                            comp);
}

be_status_t be_put_short(be_peer_t *peer, const void *data, unsigned length,
                         uint64_t remote, uint32_t rkey)
{
    return fabric_of(link_of(peer)).put_short(link_of(peer), data, length, remote, rkey);
}

ssize_t be_put_bcopy(be_peer_t *peer, be_pack_func_t pack, void *arg, uint64_t remote,
                     uint32_t rkey)
{
    return fabric_of(link_of(peer)).put_packed(link_of(peer), pack, arg, remote, rkey);
}

be_status_t be_put_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp)
{
    return fabric_of(link_of(peer))
            .transfer(link_of(peer), BulkOperation::Kind::put, iov, iovcnt, remote, rkey,
                      comp);
}

be_status_t be_get_bcopy(be_peer_t *peer, void *unpack_func, void *unpack_arg,
                         size_t length, uint64_t remote, uint32_t rkey, void *comp)
{
    return fabric_of(link_of(peer))
            .get_unpacked(link_of(peer), unpack_func, unpack_arg, length, remote, rkey,
                          comp);
}

be_status_t be_get_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp)
{
    return fabric_of(link_of(peer))
            .transfer(link_of(peer), BulkOperation::Kind::get, iov, iovcnt, remote, rkey,
                      comp);
}

be_status_t be_peer_flush(be_peer_t *peer, void *comp)
{
    return fabric_of(link_of(peer)).flush(link_of(peer), comp);
}

void be_peer_fence(be_peer_t *peer)
{
    fabric_of(link_of(peer)).fence(link_of(peer));
}

void be_fabric_metrics(const be_fabric_t *fabric, be_metric_func_t func, void *arg)
{
    fabric_of(fabric).metrics(func, arg);
}

void be_peer_metrics(const be_peer_t *peer, be_metric_func_t func, void *arg)
{
    fabric_of(link_of(peer)).link_metrics(link_of(peer), func, arg);
}

void be_fabric_visit_peers(be_fabric_t *fabric, be_peer_visit_func_t func, void *arg)
{
    fabric_of(fabric).visit_links(member_of(fabric),
                                  [&](Link &link) { func(arg, &link); });
}

const char *be_peer_name(const be_peer_t *peer)
{
    return link_of(peer).peer.name.c_str();
}

const char *be_peer_failure(const be_peer_t *peer)
{
    return link_of(peer).peer.why.c_str();
}
