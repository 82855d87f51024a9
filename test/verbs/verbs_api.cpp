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
#define SOFTRDMA_LOAD(name)                                                            \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(api.library, "ibv_" #name)); \
    if (api.name == nullptr) {                                                         \
        fprintf(stderr, "%s has no ibv_" #name "\n", path.c_str());                    \
        exit(1);                                                                       \
    }
    SOFTRDMA_FUNCTIONS(SOFTRDMA_LOAD)
#undef SOFTRDMA_LOAD
    return api;
}

} // namespace

const verbs_api &verbs()
{
    static const verbs_api api = load();
    return api;
}

} // namespace softtest
