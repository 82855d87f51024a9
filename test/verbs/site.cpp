// SPDX-License-Identifier: BSD-3-Clause
#include "site.hpp"

#include <cstdlib>
#include <cstring>

namespace softtest {
namespace {

site look_around()
{
    site result;
    if (const char *names = getenv("SOFTTEST_DEVICES")) {
        std::string both       = names;
        size_t comma           = both.find(',');
        result.own_device      = both.substr(0, comma);
        result.servants_device = (comma == std::string::npos) ? both :
                                                                both.substr(comma + 1);
    }
    if (const char *index = getenv("SOFTTEST_GID_INDEX")) {
        result.gid_index = static_cast<uint8_t>(atoi(index));
    }
    ibv_context *context = open_device(result.own_device);
    ibv_port_attr port{};
    if ((context != nullptr) &&
        (verbs_get_ctx_op(context, query_port)
                 ->query_port(context, 1, &port, sizeof(port)) == 0)) {
        result.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
        result.soft     = strncmp(context->device->name, "softrdma", 8) == 0;
        verbs().close_device(context);
    }
    return result;
}

} // namespace

const site &where_we_are()
{
    static const site result = look_around();
    return result;
}

ibv_context *open_device(const std::string &name)
{
    ibv_device **list    = verbs().get_device_list(nullptr);
    ibv_context *context = nullptr;
    for (ibv_device **next = list; (list != nullptr) && (*next != nullptr); ++next) {
        if (name.empty() || (name == (*next)->name)) {
            context = verbs().open_device(*next);
            break;
        }
    }
    if (list != nullptr) {
        verbs().free_device_list(list);
    }
    return context;
}

} // namespace softtest
