// SPDX-License-Identifier: BSD-3-Clause
//
// Two things that a preloaded library alone does not reach:
// - programs that dlopen libibverbs and look its functions up in that handle get this library instead;
// - UCX wants the device's character device to be there and accessible before it opens it by verbs.
// All else goes to the C library unchanged.
#include "exports.h"
#include "interpose.h"

#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace softrdma {
namespace {

using dlopen_function = void *(*)(const char *, int);

dlopen_function next_dlopen_function()
{
    static const auto next = reinterpret_cast<dlopen_function>(
            dlsym(RTLD_NEXT, "dlopen"));
    return next;
}

bool names_libibverbs(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name  = (slash != nullptr) ? slash + 1 : file;
    return (strcmp(name, "libibverbs.so.1") == 0) || (strcmp(name, "libibverbs.so") == 0);
}

// What stands for the character device of one of ours.
const char *translate(const char *path)
{
    constexpr char ours[] = "/dev/infiniband/softrdma_uverbs";
    if ((path != nullptr) && (strncmp(path, ours, sizeof(ours) - 1) == 0)) {
        return "/dev/null";
    }
    return path;
}

} // namespace

void *next_dlopen(const char *file, int mode)
{
    return next_dlopen_function()(file, mode);
}

} // namespace softrdma

using namespace softrdma;

SOFTRDMA_EXPORT void *dlopen(const char *file, int mode) noexcept
{
    if ((file != nullptr) && names_libibverbs(file)) {
        Dl_info own;
        if (dladdr(reinterpret_cast<void *>(&next_dlopen), &own) != 0) {
            return next_dlopen_function()(own.dli_fname, mode);
        }
    }
    // The last thing the function does, so that an optimising compiler jumps: the C library searches
    // relative to its caller.
    return next_dlopen_function()(file, mode);
}

SOFTRDMA_EXPORT int stat(const char *path, struct stat *result) noexcept
{
    return fstatat(AT_FDCWD, translate(path), result, 0);
}

SOFTRDMA_EXPORT int stat64(const char *path, struct stat64 *result) noexcept
{
    return fstatat64(AT_FDCWD, translate(path), result, 0);
}

SOFTRDMA_EXPORT int access(const char *path, int mode) noexcept
{
    return faccessat(AT_FDCWD, translate(path), mode, 0);
}
