// SPDX-License-Identifier: BSD-3-Clause
#include "context_file.h"

#include "process.h"

#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace softrdma {
namespace {

constexpr char file_name[]      = "softrdma-context";
constexpr uint64_t record_magic = 0x636f6e7465787421ull; // "context!"

struct record {
    uint64_t magic;
    uint64_t generation;
    uint32_t slot;
    uint32_t device;
};

// The name is the kernel's word for what a descriptor is: nobody has to read a foreign file.
bool is_context_file(int fd)
{
    char path[64], target[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length <= 0) {
        return false;
    }
    target[length]       = '\0';
    std::string expected = std::string("/memfd:") + file_name + " ";
    return strncmp(target, expected.c_str(), expected.size()) == 0;
}

} // namespace

int create_context_file(const process &owner, uint32_t device)
{
    int fd = memfd_create(file_name, MFD_CLOEXEC);
    record written{record_magic, owner.reg.own_generation(), owner.reg.own_slot(),
                   device};
    if ((fd >= 0) && (pwrite(fd, &written, sizeof(written), 0) != sizeof(written))) {
        close(fd);
        return -1;
    }
    return fd;
}

context_origin read_context_file(const process *owner, int fd, uint32_t &device)
{
    record found{};
    if (!is_context_file(fd) || (pread(fd, &found, sizeof(found), 0) != sizeof(found)) ||
        (found.magic != record_magic) || (found.device >= limits::devices)) {
        return context_origin::unknown;
    }
    if ((owner == nullptr) || (found.generation != owner->reg.own_generation()) ||
        (found.slot != owner->reg.own_slot())) {
        return context_origin::elsewhere;
    }
    device = found.device;
    return context_origin::here;
}

} // namespace softrdma
