// SPDX-License-Identifier: BSD-3-Clause
//
// The C facade of devices and their memory.

#include "engine/c_guard.hpp"
#include "engine/registry.hpp"
#include "verbs/error.hpp"

using namespace be::engine;

namespace {

Device &device(be_md_t *md)
{
    return *md->device;
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

be_status_t be_ports_query(be_soft_mode_t mode, be_port_info_t **ports_p,
                           unsigned *num_ports_p, char *why, size_t why_size)
{
    return guarded("looking for RDMA devices", [&] {
        const be::verbs::Discovery found = be::verbs::discover(to_verbs(mode));
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
        *md_p = new be_md{open_device(name, to_verbs(mode))};
        return BE_OK;
    });
}

void be_md_close(be_md_t *md)
{
    delete md;
}

be_status_t be_mem_register(be_md_t *md, void *address, size_t length, unsigned access,
                            int quiet, be_mem_t *mem)
{
    int error   = 0;
    auto region = device(md).register_memory(address, length, verbs_access(access),
                                             &error);
    if (!region) {
        if (!quiet) {
            const auto &context = device(md).context();
            const auto hint     = be::verbs::registration_hint(error, context.soft());
            log(BE_LOG_ERROR, "{}: registering {} bytes at {} failed: {}{}{}{}",
                context.device(), length, address, std::strerror(error),
                hint.empty() ? "" : " (", hint, hint.empty() ? "" : ")");
        }
        return error == ENOMEM ? BE_ERR_NO_MEMORY : BE_ERR_IO;
    }
    auto *owner = new (std::nothrow) be::verbs::MemoryRegion(std::move(region));
    if (owner == nullptr) {
        return BE_ERR_NO_MEMORY;
    }
    *mem = {address, length, owner->lkey(), owner->rkey(), owner};
    try {
        device(md).keys().add(mem->rkey, address, length, verbs_access(access));
    } catch (const std::bad_alloc &) {
        (void)be_mem_deregister(md, mem);
        return BE_ERR_NO_MEMORY;
    }
    return BE_OK;
}

be_status_t be_mem_deregister(be_md_t *md, be_mem_t *mem)
{
    device(md).keys().remove(mem->rkey);
    delete static_cast<be::verbs::MemoryRegion *>(mem->handle);
    mem->handle = nullptr;
    return BE_OK;
}

be_status_t be_mem_alloc(be_md_t *md, size_t length, be_mem_t *mem)
{
    return guarded("allocating registered memory", [&] {
        std::string why;
        const be::memory::Block block = device(md).remote_memory().allocate(
                length, be::memory::Arena::default_alignment, &why);
        if (!block) {
            log(BE_LOG_DEBUG, "{}", why);
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
    (void)device(md).remote_memory().free(*block);
    delete block;
    mem->handle = nullptr;
}
