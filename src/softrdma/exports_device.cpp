// SPDX-License-Identifier: BSD-3-Clause
//
// Exported functions: devices, contexts, ports.
#include "exports.h"

#include "context_file.h"
#include "log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

using namespace softrdma;

namespace {

// Lists of ours, with the real library's list that each one is an extension of.
std::mutex list_mutex;
std::unordered_map<ibv_device **, ibv_device **> &lists =
        *new std::unordered_map<ibv_device **, ibv_device **>;

device_context &from(ibv_context *context)
{
    return *device_context::from(context);
}

} // namespace

SOFTRDMA_EXPORT ibv_device **ibv_get_device_list(int *count)
{
    process *owner = process::create();
    std::vector<ibv_device *> own;
    for (uint32_t i = 0; (owner != nullptr) && (i < owner->config.devices); ++i) {
        if (!device_removed(*owner, i)) {
            own.push_back(device_entry(*owner, i));
        }
    }
    int others          = 0;
    ibv_device **theirs = nullptr;
    if ((owner == nullptr) || !owner->config.only) {
        auto real = SOFTRDMA_REAL(ibv_get_device_list, "IBVERBS_1.1");
        theirs    = (real != nullptr) ? real(&others) : nullptr;
        others    = (theirs != nullptr) ? others : 0;
    }

    auto *list = static_cast<ibv_device **>(
            calloc(own.size() + others + 1, sizeof(ibv_device *)));
    if (list == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    std::copy(own.begin(), own.end(), list);
    std::copy(theirs, theirs + others, list + own.size());
    {
        std::lock_guard lock(list_mutex);
        lists.emplace(list, theirs);
    }
    if (count != nullptr) {
        *count = static_cast<int>(own.size()) + others;
    }
    return list;
}

SOFTRDMA_EXPORT void ibv_free_device_list(ibv_device **list)
{
    ibv_device **theirs = nullptr;
    {
        std::lock_guard lock(list_mutex);
        auto found = lists.find(list);
        if (found == lists.end()) {
            return;
        }
        theirs = found->second;
        lists.erase(found);
    }
    if (theirs != nullptr) {
        SOFTRDMA_REAL(ibv_free_device_list, "IBVERBS_1.1")(theirs);
    }
    free(list);
}

SOFTRDMA_EXPORT const char *ibv_get_device_name(ibv_device *device)
{
    return device->name;
}

SOFTRDMA_EXPORT __be64 ibv_get_device_guid(ibv_device *device)
{
    SOFTRDMA_FORWARD_IF(!is_ours(device), ibv_get_device_guid, "IBVERBS_1.1", device);
    process *owner = process::create();
    return (owner != nullptr) ? htobe64(device_guid(*owner, device_index(device))) : 0;
}

SOFTRDMA_EXPORT int ibv_get_device_index(ibv_device *device)
{
    SOFTRDMA_FORWARD_IF(!is_ours(device), ibv_get_device_index, "IBVERBS_1.9", device);
    return first_index + static_cast<int>(device_index(device));
}

SOFTRDMA_EXPORT ibv_context *ibv_open_device(ibv_device *device)
{
    SOFTRDMA_FORWARD_IF(!is_ours(device), ibv_open_device, "IBVERBS_1.1", device);
    process *owner = process::create();
    if ((owner == nullptr) || device_removed(*owner, device_index(device))) {
        errno = ENODEV;
        return nullptr;
    }
    return open_context(*owner, device);
}

SOFTRDMA_EXPORT int ibv_close_device(ibv_context *context)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_close_device, "IBVERBS_1.1", context);
    SOFTRDMA_CHECK_USABLE(context, -1);
    return close_context(from(context));
}

SOFTRDMA_EXPORT ibv_context *ibv_import_device(int fd)
{
    process *owner  = process::get();
    uint32_t device = 0;
    switch (read_context_file(owner, fd, device)) {
    case context_origin::here:
        return open_context(*owner, device_entry(*owner, device), fd);
    case context_origin::elsewhere:
        SOFTRDMA_LOG(warn,
                     "descriptor %d is a device of another process: a soft device is "
                     "imported by the process that opened it only",
                     fd);
        errno = EOPNOTSUPP;
        return nullptr;
    case context_origin::unknown:
        break;
    }
    auto real = SOFTRDMA_REAL(ibv_import_device, "IBVERBS_1.10");
    if (real == nullptr) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    return real(fd);
}

SOFTRDMA_EXPORT int ibv_query_device(ibv_context *context, ibv_device_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_query_device, "IBVERBS_1.1", context,
                        attr);
    SOFTRDMA_CHECK_PRESENT(context, EIO);
    fill_device_attr(*from(context).owner, from(context).device, *attr);
    return 0;
}

SOFTRDMA_EXPORT int
ibv_query_port(ibv_context *context, uint8_t port, _compat_ibv_port_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_query_port, "IBVERBS_1.1", context, port,
                        attr);
    return query_port(context, port, reinterpret_cast<ibv_port_attr *>(attr),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

SOFTRDMA_EXPORT int
ibv_query_gid(ibv_context *context, uint8_t port, int index, ibv_gid *gid)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_query_gid, "IBVERBS_1.1", context, port,
                        index, gid);
    SOFTRDMA_CHECK_PRESENT(context, -1);
    auto entry = static_cast<uint32_t>(index);
    if ((port != port_number) || (entry >= gid_table)) {
        errno = EINVAL;
        return -1;
    }
    *gid = (entry < gids) ?
                   device_gid(*from(context).owner, from(context).device, entry) :
                   ibv_gid{};
    return 0;
}

SOFTRDMA_EXPORT int _ibv_query_gid_ex(ibv_context *context, uint32_t port, uint32_t index,
                                      ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), _ibv_query_gid_ex, "IBVERBS_1.11", context,
                        port, index, entry, flags, size);
    SOFTRDMA_CHECK_USABLE(context, EIO);
    if (flags != 0) {
        return EOPNOTSUPP;
    }
    if ((port != port_number) || (index >= gid_table)) {
        return EINVAL;
    }
    if (index >= gids) {
        return ENODATA;
    }
    ibv_gid_entry full{};
    full.gid       = device_gid(*from(context).owner, from(context).device, index);
    full.gid_index = index;
    full.port_num  = port;
    full.gid_type  = static_cast<uint32_t>(device_gid_type(*from(context).owner));
    memcpy(static_cast<void *>(entry), &full, std::min(size, sizeof(full)));
    return 0;
}

SOFTRDMA_EXPORT ssize_t _ibv_query_gid_table(ibv_context *context, ibv_gid_entry *entries,
                                             size_t count, uint32_t flags, size_t size)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), _ibv_query_gid_table, "IBVERBS_1.11", context,
                        entries, count, flags, size);
    SOFTRDMA_CHECK_USABLE(context, -EIO);
    if (count < gids) {
        return -EINVAL;
    }
    for (uint32_t i = 0; i < gids; ++i) {
        auto *entry = reinterpret_cast<ibv_gid_entry *>(
                reinterpret_cast<char *>(entries) + i * size);
        int failure = _ibv_query_gid_ex(context, port_number, i, entry, flags, size);
        if (failure != 0) {
            return -failure;
        }
    }
    return gids;
}

// Private to libibverbs, but used by programs (perftest, UCX): not in any header.
SOFTRDMA_EXPORT int
ibv_query_gid_type(ibv_context *context, uint8_t port, unsigned index, int *type)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_query_gid_type, "IBVERBS_PRIVATE_34",
                        context, port, index, type);
    SOFTRDMA_CHECK_USABLE(context, -1);
    if ((port != port_number) || (index >= gid_table)) {
        errno = EINVAL;
        return -1;
    }
    // Its own numbering: 0 IB or RoCE v1, also for an empty entry; 1 RoCE v2.
    *type = (from(context).owner->config.ethernet && (index < gids)) ? 1 : 0;
    return 0;
}

SOFTRDMA_EXPORT int
ibv_query_pkey(ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_query_pkey, "IBVERBS_1.1", context, port,
                        index, pkey);
    if ((port != port_number) || (index != 0)) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(default_pkey);
    return 0;
}

SOFTRDMA_EXPORT int ibv_get_pkey_index(ibv_context *context, uint8_t port, __be16 pkey)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_get_pkey_index, "IBVERBS_1.5", context,
                        port, pkey);
    return ((port == port_number) && (pkey == htobe16(default_pkey))) ? 0 : -1;
}

SOFTRDMA_EXPORT int
ibv_read_sysfs_file(const char *directory, const char *file, char *buffer, size_t size)
{
    if (strstr(directory, "/softrdma") == nullptr) {
        auto real = SOFTRDMA_REAL(ibv_read_sysfs_file, "IBVERBS_1.0");
        return (real != nullptr) ? real(directory, file, buffer, size) : -1;
    }
    const char *text = nullptr;
    if (strcmp(file, "board_id") == 0) {
        text = "SOFTRDMA";
    } else if (strcmp(file, "node_type") == 0) {
        text = "1: CA";
    }
    if ((text == nullptr) || (size == 0)) {
        return -1;
    }
    snprintf(buffer, size, "%s", text);
    return static_cast<int>(strlen(buffer));
}

SOFTRDMA_EXPORT int ibv_get_async_event(ibv_context *context, ibv_async_event *event)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_get_async_event, "IBVERBS_1.1", context,
                        event);
    SOFTRDMA_CHECK_USABLE(context, -1);
    return next_async_event(from(context), *event);
}

SOFTRDMA_EXPORT void ibv_ack_async_event(ibv_async_event *event)
{
    // The acknowledgement is counted in the object itself, in a part that is the same for every
    // device; so it does not matter whose object it is.
    acknowledge_async_event(*event);
}

SOFTRDMA_EXPORT int ibv_fork_init(void)
{
    // The soft device needs nothing; the real one must hear of it.
    auto real = SOFTRDMA_REAL(ibv_fork_init, "IBVERBS_1.1");
    return (real != nullptr) ? real() : 0;
}

SOFTRDMA_EXPORT ibv_fork_status ibv_is_fork_initialized(void)
{
    auto real = SOFTRDMA_REAL(ibv_is_fork_initialized, "IBVERBS_1.13");
    return (real != nullptr) ? real() : IBV_FORK_UNNEEDED;
}

SOFTRDMA_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context *context, ibv_ah_attr *attr,
                                                uint8_t mac[ETHERNET_LL_SIZE],
                                                uint16_t *vlan)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1",
                        context, attr, mac, vlan);
    memset(mac, 0, ETHERNET_LL_SIZE);
    if (vlan != nullptr) {
        *vlan = UINT16_MAX;
    }
    return 0;
}
