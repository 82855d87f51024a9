// SPDX-License-Identifier: BSD-3-Clause
//
// Exported functions without an object: names of enumerators and conversions of rates. They are here so
// that a program that finds this library in place of libibverbs does not miss them.
#include "exports.h"

#include <iterator>

using namespace softrdma;

namespace {

template<size_t count>
const char *name_of(const char *const (&names)[count], int value, const char *unknown)
{
    bool known = (value >= 0) && (static_cast<size_t>(value) < count);
    return known ? names[value] : unknown;
}

constexpr const char *node_types[] = {"unknown",           "InfiniBand channel adapter",
                                      "InfiniBand switch", "InfiniBand router",
                                      "iWARP NIC",         "usNIC",
                                      "usNIC UDP",         "unspecified"};

constexpr const char *port_states[] = {
        "no state change (NOP)", "down", "init", "armed", "active", "active defer"};

constexpr const char *event_types[] = {"CQ error",
                                       "local work queue catastrophic error",
                                       "invalid request local work queue error",
                                       "local access violation work queue error",
                                       "communication established",
                                       "send queue drained",
                                       "path migrated",
                                       "path migration request error",
                                       "local catastrophic error",
                                       "port active",
                                       "port error",
                                       "LID change",
                                       "P_Key change",
                                       "SM change",
                                       "SRQ catastrophic error",
                                       "SRQ limit reached",
                                       "last WQE reached",
                                       "client reregistration",
                                       "GID table change",
                                       "WQ fatal"};

constexpr const char *wc_statuses[] = {"success",
                                       "local length error",
                                       "local QP operation error",
                                       "local EE context operation error",
                                       "local protection error",
                                       "Work Request Flushed Error",
                                       "memory management operation error",
                                       "bad response error",
                                       "local access error",
                                       "remote invalid request error",
                                       "remote access error",
                                       "remote operation error",
                                       "transport retry counter exceeded",
                                       "RNR retry counter exceeded",
                                       "local RDD violation error",
                                       "remote invalid RD request",
                                       "aborted error",
                                       "invalid EE context number",
                                       "invalid EE context state",
                                       "fatal error",
                                       "response timeout error",
                                       "general error",
                                       "TM error",
                                       "TM software rendezvous"};

// The rates of the specification: enumerator, multiple of 2.5 Gb/s (0 where there is none), Mb/s.
struct rate {
    ibv_rate value;
    int multiple;
    int mbps;
};

constexpr rate rates[] = {
        {IBV_RATE_2_5_GBPS, 1, 2500},      {IBV_RATE_5_GBPS, 2, 5000},
        {IBV_RATE_10_GBPS, 4, 10000},      {IBV_RATE_14_GBPS, 0, 14062},
        {IBV_RATE_20_GBPS, 8, 20000},      {IBV_RATE_25_GBPS, 0, 25781},
        {IBV_RATE_28_GBPS, 0, 28125},      {IBV_RATE_30_GBPS, 12, 30000},
        {IBV_RATE_40_GBPS, 16, 40000},     {IBV_RATE_50_GBPS, 20, 53125},
        {IBV_RATE_56_GBPS, 0, 56250},      {IBV_RATE_60_GBPS, 24, 60000},
        {IBV_RATE_80_GBPS, 32, 80000},     {IBV_RATE_100_GBPS, 0, 103125},
        {IBV_RATE_112_GBPS, 0, 112500},    {IBV_RATE_120_GBPS, 48, 120000},
        {IBV_RATE_168_GBPS, 0, 168750},    {IBV_RATE_200_GBPS, 80, 206250},
        {IBV_RATE_300_GBPS, 120, 309375},  {IBV_RATE_400_GBPS, 160, 425000},
        {IBV_RATE_600_GBPS, 240, 637500},  {IBV_RATE_800_GBPS, 320, 850000},
        {IBV_RATE_1200_GBPS, 480, 1275000}};

} // namespace

SOFTRDMA_EXPORT const char *ibv_node_type_str(ibv_node_type type)
{
    return name_of(node_types, type, "unknown");
}

SOFTRDMA_EXPORT const char *ibv_port_state_str(ibv_port_state state)
{
    return name_of(port_states, state, "unknown");
}

SOFTRDMA_EXPORT const char *ibv_event_type_str(ibv_event_type event)
{
    return name_of(event_types, event, "unknown");
}

SOFTRDMA_EXPORT const char *ibv_wc_status_str(ibv_wc_status status)
{
    return name_of(wc_statuses, status, "unknown");
}

SOFTRDMA_EXPORT int ibv_rate_to_mult(ibv_rate value)
{
    for (const rate &entry : rates) {
        if ((entry.value == value) && (entry.multiple != 0)) {
            return entry.multiple;
        }
    }
    return -1;
}

SOFTRDMA_EXPORT ibv_rate mult_to_ibv_rate(int multiple)
{
    for (const rate &entry : rates) {
        if ((entry.multiple == multiple) && (multiple != 0)) {
            return entry.value;
        }
    }
    return IBV_RATE_MAX;
}

SOFTRDMA_EXPORT int ibv_rate_to_mbps(ibv_rate value)
{
    for (const rate &entry : rates) {
        if (entry.value == value) {
            return entry.mbps;
        }
    }
    return -1;
}

SOFTRDMA_EXPORT ibv_rate mbps_to_ibv_rate(int mbps)
{
    for (const rate &entry : rates) {
        if (entry.mbps == mbps) {
            return entry.value;
        }
    }
    return IBV_RATE_MAX;
}
