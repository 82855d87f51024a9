// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/ucx_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace be::tools {

namespace {

constexpr const char *library_name = "libucp.so.0";

using get_version_func_t = void (*)(unsigned *major, unsigned *minor, unsigned *patch);

} // namespace

std::string UcxVersion::to_string() const
{
    return fmt::format("{}.{}.{}", major, minor, patch);
}

UcxLibrary find_ucx_library()
{
    // Never closed: UCX's libraries do not expect to be unloaded.
    void *handle = dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
        const char *reason = dlerror();
        const char *path   = std::getenv("LD_LIBRARY_PATH");
        throw std::runtime_error(fmt::format(
                "UCX not found: {} (sought in LD_LIBRARY_PATH, which is {}, and in "
                "the system's library folders; Debian: apt-get install libucx0)",
                reason, (path == nullptr) ? "not set" : path));
    }

    auto get_version = reinterpret_cast<get_version_func_t>(
            dlsym(handle, "ucp_get_version"));
    if (get_version == nullptr) {
        throw std::runtime_error(
                fmt::format("{} is not UCX: it has no function ucp_get_version",
                            library_name));
    }

    UcxLibrary library;
    get_version(&library.version.major, &library.version.minor, &library.version.patch);

    Dl_info info;
    const bool located = dladdr(reinterpret_cast<void *>(get_version), &info) != 0;
    library.path       = located ? info.dli_fname : library_name;
    return library;
}

} // namespace be::tools
