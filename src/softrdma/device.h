// SPDX-License-Identifier: BSD-3-Clause
//
// The devices softrdma0 ... and how they are addressed. Each has one port with one LID (InfiniBand link
// layer) and two GIDs. All processes of a registry share the same devices, so a LID or GID names a
// device, and the queue pair number names process and queue pair.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softrdma {

class process;

inline constexpr uint16_t first_lid  = 1;
inline constexpr uint32_t no_device  = UINT32_MAX;
inline constexpr uint8_t port_number = 1;
inline constexpr uint32_t gids       = 2; // of a port
inline constexpr uint32_t gid_table  = 4; // entries, the others are empty
inline constexpr int first_index = 1000; // of ibv_get_device_index: clear of the kernel's
inline constexpr uint16_t default_pkey = 0xffff;

// The device list entry of device `index`; created once, never freed.
ibv_device *device_entry(const process &owner, uint32_t index);

// The index of one of ours, no_device for others. Also true in a forked child.
uint32_t device_index(const ibv_device *device);

inline bool is_ours(const ibv_device *device)
{
    return device_index(device) != no_device;
}

inline bool is_ours(const ibv_context *context)
{
    return is_ours(context->device);
}

// Whether the fault device-removed hit it in this process.
bool device_removed(process &owner, uint32_t index);

uint64_t device_guid(const process &owner, uint32_t index); // host byte order

// Entry `entry` of the GID table: on InfiniBand link-local ones of the GUID and an alias of it, on Ethernet
// (RoCE v2) that of an IPv4 address and a link-local one.
ibv_gid device_gid(const process &owner, uint32_t index, uint32_t entry);
int device_gid_type(const process &owner);

// The entry of the table that holds the GID, `gids` when there is none.
uint32_t find_gid(const process &owner, uint32_t index, const ibv_gid &gid);

bool is_ipv4(const ibv_gid &gid);

// The device an address vector leads to, no_device when there is none.
uint32_t resolve_address(const process &owner, const ibv_ah_attr &address);

// Whether an address vector can be used at all on this link layer.
bool address_valid(const process &owner, const ibv_ah_attr &address);

void fill_device_attr(const process &owner, uint32_t index, ibv_device_attr &attr);
void fill_port_attr(process &owner, uint32_t index, ibv_port_attr &attr);

} // namespace softrdma
