// SPDX-License-Identifier: BSD-3-Clause
#include "segment.h"

#include "resource_limit.h"

#include <bit>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace softrdma {
namespace {

constexpr uint64_t page = 4096;

uint64_t block_size(uint64_t bytes)
{
    return std::bit_ceil(bytes < page ? page : bytes);
}

} // namespace

segment::~segment()
{
    if (m_base != nullptr) {
        munmap(m_base, limits::segment_bytes);
    }
    if (m_fd >= 0) {
        close(m_fd);
    }
}

bool segment::create(uint32_t slot, uint64_t generation, std::string &error)
{
    m_fd = memfd_create("softrdma", MFD_CLOEXEC);
    if ((m_fd < 0) || !may_have_file_of(limits::segment_bytes) ||
        (ftruncate(m_fd, limits::segment_bytes) != 0)) {
        error = "device memory of 4 GiB (unlimited by ulimit -f): " +
                describe_failure(errno);
        return false;
    }
    void *base = mmap(nullptr, limits::segment_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, m_fd, 0);
    if (base == MAP_FAILED) {
        error = "device memory: mapping 4 GiB of address space: " +
                describe_failure(errno);
        return false;
    }
    // A child must not write into its parent's device, nor should it read it.
    madvise(base, limits::segment_bytes, MADV_DONTFORK);

    m_base             = static_cast<segment_layout *>(base);
    m_base->slot       = slot;
    m_base->address    = reinterpret_cast<uint64_t>(base);
    m_base->generation = generation;
    m_base->magic      = segment_magic;
    m_top              = (sizeof(segment_layout) + page - 1) / page * page;
    return true;
}

uint64_t segment::allocate(uint64_t bytes)
{
    uint64_t size = block_size(bytes);
    std::lock_guard lock(m_mutex);
    std::vector<uint64_t> &blocks = m_free[size];
    if (!blocks.empty()) {
        uint64_t offset = blocks.back();
        blocks.pop_back();
        return offset;
    }
    if (m_top + size > limits::segment_bytes) {
        return 0;
    }
    uint64_t offset = m_top;
    m_top += size;
    return offset;
}

void segment::free(uint64_t offset, uint64_t bytes)
{
    if (offset == 0) {
        return;
    }
    std::lock_guard lock(m_mutex);
    m_free[block_size(bytes)].push_back(offset);
}

void segment::warm(uint64_t offset, uint64_t bytes)
{
    uint64_t first = offset / page * page;
    uint64_t last  = (offset + bytes + page - 1) / page * page;
    madvise(reinterpret_cast<char *>(m_base) + first, last - first, MADV_POPULATE_WRITE);
}

} // namespace softrdma
