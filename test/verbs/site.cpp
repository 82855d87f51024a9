// SPDX-License-Identifier: BSD-3-Clause
#include "site.hpp"

#include <cstdlib>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace softtest {
namespace {

bool reaches_memory()
{
    const char *wanted = getenv("SOFTRDMA_CMA");
    uint64_t from = 1, to = 0;
    iovec mine{&to, sizeof(to)}, theirs{&from, sizeof(from)};
    return ((wanted == nullptr) || (strcmp(wanted, "off") != 0)) &&
           (process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == sizeof(to));
}

site look_around()
{
    site result;
    result.direct = reaches_memory();
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
