// SPDX-License-Identifier: BSD-3-Clause
//
// What regions ask of the system. Tests put another in its place, which gives and refuses
// as they like.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>

namespace be::memory {

class RegionSystem {
public:
    static RegionSystem &instance();

    virtual ~RegionSystem() = default;

    // Private memory of ordinary pages, or of what `flags` of mmap() say; munmap() gives
    // it back. Null: errno tells why.
    virtual void *map(size_t length, int flags);

    // Empty, or why so much memory is not to be mapped and touched.
    virtual std::string refuse(size_t length);

    // Touches all pages. 0, or the errno value of memory that cannot be had. `huge`: pages
    // that would be fatal to touch without asking.
    virtual int populate(void *data, size_t length, bool huge);

    // Whether the kernel may put huge pages there in its own time. False: it has them
    // switched off, or was not to.
    virtual bool transparent_pages(void *data, size_t length, bool wanted);

    // `wish`: RegionOptions::numa_node. Empty, or why memory may lie elsewhere.
    virtual std::string bind(void *data, size_t length, int wish);
};

} // namespace be::memory
