// SPDX-License-Identifier: BSD-3-Clause
#include "device.h"

#include "sizes.h"
#include "process.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <endian.h>
#include <fstream>
#include <mutex>
#include <unistd.h>

namespace softrdma {
namespace {

// libmlx5 and libefa look at what would follow their own ibv_device: it must read as zeros.
struct device_slot {
    ibv_device device;
    char padding[256];
};

device_slot device_slots[limits::devices];

uint64_t hash(const std::string &text)
{
    uint64_t value = 14695981039346656037ull; // FNV-1a
    for (unsigned char c : text) {
        value = (value ^ c) * 1099511628211ull;
    }
    return value ^ (value >> 29);
}

// Stable for the host, user and domain.
uint64_t identity(const process &owner)
{
    static std::once_flag once;
    static std::string host;
    std::call_once(once, [] {
        std::ifstream file("/etc/machine-id");
        if (!std::getline(file, host) || host.empty()) {
            char name[256] = "";
            gethostname(name, sizeof(name) - 1);
            host = name;
        }
    });
    return hash(host + "/" + std::to_string(getuid()) + "/" + owner.config.domain);
}

port_shared &port_of(process &owner, uint32_t index)
{
    return owner.reg.port(owner.reg.own_slot(), index);
}

} // namespace

ibv_device *device_entry(const process &owner, uint32_t index)
{
    static std::once_flag once;
    std::call_once(once, [&] {
        for (uint32_t i = 0; i < owner.config.devices; ++i) {
            ibv_device &device    = device_slots[i].device;
            device.node_type      = IBV_NODE_CA;
            device.transport_type = IBV_TRANSPORT_IB;
            snprintf(device.name, sizeof(device.name), "softrdma%u", i);
            snprintf(device.dev_name, sizeof(device.dev_name), "softrdma_uverbs%u", i);
            snprintf(device.dev_path, sizeof(device.dev_path),
                     "/sys/class/infiniband_verbs/softrdma_uverbs%u", i);
            snprintf(device.ibdev_path, sizeof(device.ibdev_path),
                     "/sys/class/infiniband/softrdma%u", i);
        }
    });
    return &device_slots[index].device;
}

uint32_t device_index(const ibv_device *device)
{
    auto address = reinterpret_cast<uintptr_t>(device);
    auto first   = reinterpret_cast<uintptr_t>(&device_slots[0]);
    if ((address < first) || (address >= first + sizeof(device_slots))) {
        return no_device;
    }
    return static_cast<uint32_t>((address - first) / sizeof(device_slot));
}

bool device_removed(process &owner, uint32_t index)
{
    return (port_of(owner, index).condition.load() & port_removed) != 0;
}

uint64_t device_guid(const process &owner, uint32_t index)
{
    // Locally administered; the last byte is the device.
    return 0x0200000000000000ull | ((identity(owner) & 0x00ffffffffffull) << 8) |
           (index + 1);
}

ibv_gid device_gid(const process &owner, uint32_t index, uint32_t entry)
{
    ibv_gid gid{};
    if (owner.config.ethernet && (entry == 0)) {
        // An IPv4-mapped address of a network that is never routed.
        gid.raw[10] = gid.raw[11] = 0xff;
        gid.raw[12]               = 198;
        gid.raw[13]               = 18;
        gid.raw[14]               = static_cast<uint8_t>(identity(owner));
        gid.raw[15]               = static_cast<uint8_t>(index + 1);
        return gid;
    }
    uint64_t alias           = owner.config.ethernet ? 0 : uint64_t{entry} << 4;
    gid.global.subnet_prefix = htobe64(0xfe80000000000000ull);
    gid.global.interface_id  = htobe64(device_guid(owner, index) | alias);
    return gid;
}

uint32_t find_gid(const process &owner, uint32_t index, const ibv_gid &gid)
{
    uint32_t entry = 0;
    for (; entry < gids; ++entry) {
        ibv_gid own = device_gid(owner, index, entry);
        if (memcmp(own.raw, gid.raw, sizeof(own.raw)) == 0) {
            break;
        }
    }
    return entry;
}

bool is_ipv4(const ibv_gid &gid)
{
    static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(gid.raw, prefix, sizeof(prefix)) == 0;
}

int device_gid_type(const process &owner)
{
    return owner.config.ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
}

bool address_valid(const process &owner, const ibv_ah_attr &address)
{
    if (address.port_num != port_number) {
        return false;
    }
    if (!address.is_global) {
        return !owner.config.ethernet; // RoCE has no other address than a GID
    }
    if (address.grh.sgid_index >= gids) {
        return false;
    }
    // From IPv4 to IPv4, from IPv6 to IPv6.
    return !owner.config.ethernet ||
           (is_ipv4(device_gid(owner, 0, address.grh.sgid_index)) ==
            is_ipv4(address.grh.dgid));
}

uint32_t resolve_address(const process &owner, const ibv_ah_attr &address)
{
    for (uint32_t i = 0; i < limits::devices; ++i) {
        bool by_lid = owner.config.ethernet || (address.dlid == first_lid + i);
        bool by_gid = !address.is_global || (find_gid(owner, i, address.grh.dgid) < gids);
        if (by_lid && by_gid) {
            return i;
        }
    }
    return no_device;
}

void fill_device_attr(const process &owner, uint32_t index, ibv_device_attr &attr)
{
    attr = {};
    snprintf(attr.fw_ver, sizeof(attr.fw_ver), "%u.0.0", layout_version);
    attr.node_guid        = htobe64(device_guid(owner, index));
    attr.sys_image_guid   = attr.node_guid;
    attr.max_mr_size      = UINT64_MAX;
    attr.page_size_cap    = 0xfffff000;
    attr.vendor_id        = 0x025352; // locally administered, "SR"
    attr.vendor_part_id   = 1;
    attr.hw_ver           = layout_version;
    attr.max_qp           = limits::qps - 2;
    attr.max_qp_wr        = limits::work_requests;
    attr.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD |
                            IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE |
                            IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                            IBV_DEVICE_MEM_MGT_EXTENSIONS;
    attr.max_sge             = limits::sges;
    attr.max_sge_rd          = limits::sges;
    attr.max_cq              = limits::cqs - 1;
    attr.max_cqe             = limits::cqes;
    attr.max_mr              = limits::mrs - 1;
    attr.max_mw              = limits::mrs - 1;
    attr.max_pd              = limits::pds;
    attr.max_qp_rd_atom      = limits::rd_atomic;
    attr.max_res_rd_atom     = limits::rd_atomic * limits::qps;
    attr.max_qp_init_rd_atom = limits::rd_atomic;
    attr.atomic_cap          = IBV_ATOMIC_HCA;
    attr.max_ah              = limits::ahs;
    attr.max_srq             = limits::srqs - 1;
    attr.max_srq_wr          = limits::work_requests;
    attr.max_srq_sge         = limits::sges;
    attr.max_pkeys           = 1;
    attr.local_ca_ack_delay  = 15;
    attr.phys_port_cnt       = 1;
}

void fill_port_attr(process &owner, uint32_t index, ibv_port_attr &attr)
{
    attr              = {};
    bool down         = (port_of(owner, index).condition.load() & port_link_down) != 0;
    attr.state        = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    attr.max_mtu      = IBV_MTU_4096;
    attr.active_mtu   = IBV_MTU_4096;
    attr.gid_tbl_len  = gid_table;
    attr.max_msg_sz   = static_cast<uint32_t>(limits::message_bytes);
    attr.pkey_tbl_len = 1;
    attr.max_vl_num   = 1;
    attr.active_width = 2; // 4x
    attr.active_speed = 32; // EDR: 100 Gb/s
    attr.phys_state   = down ? 2 : 5; // polling, link up
    if (owner.config.ethernet) {
        attr.link_layer     = IBV_LINK_LAYER_ETHERNET;
        attr.port_cap_flags = IBV_PORT_IP_BASED_GIDS;
    } else {
        attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
        attr.lid        = static_cast<uint16_t>(first_lid + index);
        attr.sm_lid     = first_lid;
    }
}

} // namespace softrdma
