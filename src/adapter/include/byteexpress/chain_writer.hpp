// SPDX-License-Identifier: BSD-3-Clause
//
// Fills a chain front to back, where a serialiser wants to write: next() hands out the
// stretch to write to, back_up() gives back what was not used of it. The stretches become
// the chain as they are. Same contract as protobuf's ZeroCopyOutputStream.
//
// Threads: one at a time. Errors: std::bad_alloc.
#pragma once

#include <byteexpress/chain.hpp>

#include <cstddef>
#include <span>

namespace be {

// Where a serialiser writes to.
class BE_API ChainWriter {
public:
    static constexpr std::size_t default_first = 4096; // bytes
    static constexpr std::size_t default_most  = std::size_t{1} << 20; // bytes

    // Stretches double from `first` to `most` bytes.
    explicit ChainWriter(Allocator &memory, std::size_t first = default_first,
                         std::size_t most = default_most, Allocator::Owner owner = 0);

    // The next stretch, never empty; all of it counts as written.
    std::span<std::byte> next();

    // The last `count` bytes of the last stretch were not written. At most all of them.
    void back_up(std::size_t count) noexcept;

    // Copies, for small parts.
    void write(const void *data, std::size_t length);

    // Puts a part in without copying it.
    void append(Buffer buffer);

    // Bytes written so far.
    std::size_t size() const noexcept
    {
        return m_chain.size() + m_used;
    }

    // What was written; the writer is empty afterwards and can be used again.
    Chain take();

private:
    void close_stretch();

    Allocator &m_memory;
    Allocator::Owner m_owner;
    std::size_t m_first; // bytes
    std::size_t m_most; // bytes
    std::size_t m_next; // bytes of the next block
    Buffer m_block; // the part of it that is not in the chain yet
    std::size_t m_used = 0; // bytes at its front that are written
    Chain m_chain;
};

} // namespace be
