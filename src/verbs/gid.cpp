// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/gid.hpp"

#include "verbs/error.hpp"
#include "verbs/sysfs.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace be::verbs {
namespace {

constexpr char roce_v2[] = "RoCE v2";

bool is_empty(const ibv_gid &gid)
{
    return std::all_of(std::begin(gid.raw), std::end(gid.raw),
                       [](uint8_t b) { return b == 0; });
}

bool is_link_local(const ibv_gid &gid)
{
    return (gid.raw[0] == 0xfe) && ((gid.raw[1] & 0xc0) == 0x80); // fe80::/10
}

// Higher is better; 0: not chosen by itself.
int rank(const Gid &gid)
{
    if (gid.type != roce_v2) {
        return 0;
    }
    if (gid.is_ipv4_mapped()) {
        return 3;
    }
    return is_link_local(gid.value) ? 1 : 2;
}

Gid read(const Context &context, uint8_t port, int index, const std::string &sysfs)
{
    Gid gid;
    gid.index       = index;
    const int error = error_of(
            context.table().query_gid(context.get(), port, index, &gid.value));
    if (error != 0) {
        throw Error(context.device(), "ibv_query_gid",
                    "port " + std::to_string(port) + ", index " + std::to_string(index),
                    error);
    }
    if (!context.soft()) {
        gid.type = sysfs::gid_type(sysfs, context.device(), port, index);
    }
    return gid;
}

} // namespace

bool Gid::is_ipv4_mapped() const
{
    static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(value.raw, prefix, sizeof(prefix)) == 0;
}

std::string Gid::to_string() const
{
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, value.raw, text, sizeof(text));
    return text;
}

Gid choose_gid(const Context &context, uint8_t port, int requested,
               const std::string &sysfs)
{
    const ibv_port_attr attributes = context.port(port);
    const int count                = attributes.gid_tbl_len;

    if (requested >= 0) {
        const std::string arguments = "port " + std::to_string(port) + ", index " +
                                      std::to_string(requested);
        if (requested >= count) {
            throw Error(context.device(), "ibv_query_gid", arguments, EINVAL,
                        "the port has the GID indices 0 to " + std::to_string(count - 1));
        }
        const Gid gid = read(context, port, requested, sysfs);
        if (is_empty(gid.value)) {
            throw Error(context.device(), "ibv_query_gid", arguments, ENOENT,
                        "that entry of the GID table is empty: see show_gids or " +
                                sysfs + "/" + context.device() + "/ports/" +
                                std::to_string(port) + "/gids");
        }
        return gid;
    }

    Gid best = read(context, port, 0, sysfs);
    if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
        return best;
    }
    for (int index = 1; index < count; ++index) {
        // Most entries of the table are empty: those have no type.
        if (!context.soft() &&
            (sysfs::gid_type(sysfs, context.device(), port, index) == roce_v2)) {
            const Gid gid = read(context, port, index, sysfs);
            if (!is_empty(gid.value) && (rank(gid) > rank(best))) {
                best = gid;
            }
        }
    }
    return best;
}

} // namespace be::verbs
