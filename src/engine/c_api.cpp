// SPDX-License-Identifier: BSD-3-Clause
//
// The C facade of fabrics.

#include "engine/c_guard.hpp"
#include "engine/registry.hpp"

#include <algorithm>
#include <vector>

using namespace be::engine;

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

void be_fabric_config_defaults(const be_port_info_t *port, be_fabric_config_t *config)
{
    *config                 = {};
    config->segment_size    = 8192;
    config->rx_capacity     = port->soft ? 1024 : 4096;
    config->rx_max          = 16384;
    config->tx_queue        = 256;
    config->tx_completions  = 4096;
    config->chunk           = port->soft ? 1u << 20 : 64u << 10;
    config->window          = port->soft ? 16u << 20 : 1u << 20;
    config->link_rate       = port->bandwidth;
    config->byte_budget     = port->soft ? 0 : be_default_byte_budget(port->bandwidth);
    config->max_inline      = port->soft ? 512 : 192;
    config->timeout         = 14;
    config->retry_count     = 6;
    config->gid_index       = -1;
    config->peer_timeout    = 30;
    config->connect_timeout = 10;
    config->recovery        = 1;
    config->max_recoveries  = 64;
    config->fallback        = BE_FALLBACK_NONE;
    config->fallback_time   = 1;
    config->am_alignment    = 1;
}

/* Four times what the path holds: that of a small data centre, or what hosts may need that are slow to
 * answer. The protocol finds out how much less will do, see core/byte_pool.hpp. */
size_t be_default_byte_budget(double link_rate)
{
    constexpr double path_seconds = 12e-6;
    constexpr double least_path   = 128 << 10; // bytes
    constexpr double most         = 2 << 20;

    return static_cast<size_t>(
            std::min(4 * std::max(link_rate * path_seconds, least_path), most));
}

be_status_t be_fabric_create(be_md_t *md, uint8_t port, const be_fabric_config_t *config,
                             const be_fabric_callbacks_t *callbacks,
                             be_fabric_t **fabric_p)
{
    return guarded("starting on an RDMA port", [&] {
        *fabric_p = new Member(open_fabric(md->device, port, *config), *callbacks);
        return BE_OK;
    });
}

void be_fabric_destroy(be_fabric_t *fabric)
{
    delete &member_of(fabric);
}

void be_fabric_query(const be_fabric_t *fabric, be_fabric_attr_t *attr)
{
    *attr = member_of(fabric).fabric().attributes();
}

void be_fabric_address(const be_fabric_t *fabric, uint8_t address[BE_FABRIC_ADDR_LEN])
{
    member_of(fabric).address().encode(
            std::span<std::uint8_t, BE_FABRIC_ADDR_LEN>(address, BE_FABRIC_ADDR_LEN));
}

void be_fabric_device_address(const be_fabric_t *fabric,
                              uint8_t address[BE_DEVICE_ADDR_LEN])
{
    member_of(fabric).fabric().address().device.encode(
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
            remote ? member_of(fabric).fabric().address().device.unreachable_because(
                             *remote) :
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

void be_fabric_signal(be_fabric_t *fabric)
{
    member_of(fabric).signal();
}

void be_rx_release(be_fabric_t *fabric, void *data)
{
    member_of(fabric).release_payload(data);
}

be_status_t be_fabric_flush(be_fabric_t *fabric, void *comp)
{
    Member &member = member_of(fabric);
    return Locked(member.fabric())->flush_all(member, comp);
}

void be_fabric_fence(be_fabric_t *fabric)
{
    Member &member = member_of(fabric);
    Locked(member.fabric())->fence_all(member);
}

void be_fabric_metrics(const be_fabric_t *fabric, be_metric_func_t func, void *arg)
{
    Locked(const_cast<Member &>(member_of(fabric)).fabric())->metrics(func, arg);
}

void be_fabric_visit_peers(be_fabric_t *fabric, be_peer_visit_func_t func, void *arg)
{
    (void)guarded("visiting peers", [&] {
        Member &member = member_of(fabric);
        std::vector<Link *> links; // the callee may use them, which takes the lock
        Locked(member.fabric())->visit_links(member, [&](Link &link) {
            if (link.references != 0) {
                links.push_back(&link);
            }
        });
        for (Link *link : links) {
            func(arg, link);
        }
        return BE_OK;
    });
}
