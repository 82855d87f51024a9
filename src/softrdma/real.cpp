// SPDX-License-Identifier: BSD-3-Clause
#include "exports.h"

#include "interpose.h"

#include <dlfcn.h>
#include <mutex>

namespace softrdma {

void *real_symbol(const char *name, const char *version)
{
    static std::once_flag once;
    static void *library = nullptr;
    std::call_once(once, [] {
        library = next_dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
    });
    if (library == nullptr) {
        return nullptr;
    }
    void *found = dlvsym(library, name, version);
    return (found != nullptr) ? found : dlsym(library, name);
}

} // namespace softrdma
