// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the kernel says about a process of ours. A process that is gone throws
 * std::runtime_error.
 */
#ifndef BE_TEST_LIB_PROCFS_HPP
#define BE_TEST_LIB_PROCFS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace be::test {

struct Footprint {
    std::size_t descriptors;
    std::size_t threads;
    std::size_t
            resident; /* bytes of anonymous and shared memory; mapped files do not count */
};

Footprint footprint(pid_t pid);

/* Targets of the process's descriptors: "socket:[4711]" and the like. */
std::vector<std::string> descriptors(pid_t pid);

/* An IPv4 address and port on which a process listens; both in host order. */
struct Listening {
    std::uint32_t address;
    std::uint16_t port;
};

std::vector<Listening> listening_sockets(pid_t pid);

} // namespace be::test

#endif
