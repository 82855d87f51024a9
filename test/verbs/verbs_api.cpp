// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_api.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace softtest {
namespace {

std::string library_path()
{
    if (const char *file = getenv("SOFTRDMA_LIBRARY")) {
        return file;
    }
    if (const char *folder = getenv("BE_MODULEDIR")) {
        return std::string(folder) + "/libsoftrdma.so";
    }
    return "libsoftrdma.so";
}

verbs_api load()
{
    verbs_api api{};
    std::string path = library_path();
    api.library      = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (api.library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    auto load = [&](auto &entry, const char *name) {
        entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(
                dlsym(api.library, name));
        if (entry == nullptr) {
            fprintf(stderr, "%s has no %s\n", path.c_str(), name);
            exit(1);
        }
    };
#define SOFTRDMA_LOAD(name) load(api.name, "ibv_" #name);
    SOFTRDMA_FUNCTIONS(SOFTRDMA_LOAD)
#undef SOFTRDMA_LOAD
    load(api.query_gid_ex, "_ibv_query_gid_ex");
    load(api.query_gid_table, "_ibv_query_gid_table");
    return api;
}

} // namespace

const verbs_api &verbs()
{
    static const verbs_api api = load();
    return api;
}

} // namespace softtest
