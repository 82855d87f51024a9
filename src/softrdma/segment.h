// SPDX-License-Identifier: BSD-3-Clause
//
// This process's device memory: the shared segment and the heap behind its tables, from which rings and
// bounce buffers come. Blocks are powers of two and reused last in first out, so that memory that was
// touched once is used again.
//
// Thread rules: allocate() and free() from any thread.
#pragma once

#include "layout.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace softrdma {

inline constexpr uint64_t segment_magic = 0x7365676d656e7421ull; // "segment!"

class segment {
public:
    segment() = default;
    ~segment();
    segment(const segment &)            = delete;
    segment &operator=(const segment &) = delete;

    // Creates and maps it. False with a message in `error`.
    bool create(uint32_t slot, uint64_t generation, std::string &error);

    segment_layout *base() const
    {
        return m_base;
    }

    int fd() const
    {
        return m_fd;
    }

    // Offset of a page-aligned block of at least `bytes`, 0 when the segment is full. The contents are
    // undefined.
    uint64_t allocate(uint64_t bytes);

    // `bytes` as given to allocate(). Offset 0 is ignored.
    void free(uint64_t offset, uint64_t bytes);

    // Touches memory in advance; best effort.
    void warm(uint64_t offset, uint64_t bytes);

private:
    segment_layout *m_base = nullptr;
    int m_fd               = -1;
    std::mutex m_mutex;
    uint64_t m_top = 0;
    std::map<uint64_t, std::vector<uint64_t>> m_free; // by block size
};

} // namespace softrdma
