// SPDX-License-Identifier: BSD-3-Clause
//
// FlatBuffers that are built where the device reads them.
//
//     be::FlatBufferMemory memory(allocator);
//     flatbuffers::FlatBufferBuilder builder(1024, &memory);
//     ... builder.Finish(root);
//     be::Buffer message = be::take(builder);     // no byte is copied
//
// Header only: needs FlatBuffers 2.0 or later where it is included, and nowhere else.
#pragma once

#include <byteexpress/buffer.hpp>

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace be {

// Threads: as Allocator. It outlives the builders that use it and what was taken from them.
class FlatBufferMemory final : public flatbuffers::Allocator {
public:
    // `memory` outlives this.
    explicit FlatBufferMemory(be::Allocator &memory) : m_memory(&memory)
    {
    }

    // Throws std::bad_alloc.
    uint8_t *allocate(size_t size) override
    {
        return static_cast<uint8_t *>(
                m_memory->allocate(size, be::Allocator::default_alignment));
    }

    // What allocate() gave for the same `size`.
    void deallocate(uint8_t *address, size_t size) override
    {
        m_memory->deallocate(address, size, be::Allocator::default_alignment);
    }

private:
    be::Allocator *m_memory;
};

// The finished message, as a slice of the memory that the builder wrote to. The builder is
// empty afterwards and can be used again. Throws std::bad_alloc.
inline Buffer take(flatbuffers::FlatBufferBuilder &builder)
{
    auto message     = std::make_unique<flatbuffers::DetachedBuffer>(builder.Release());
    void *const data = message->data();
    const size_t length = message->size();
    Buffer buffer       = Buffer::adopt(data, length,
                                        [owner = message.get()](void *) { delete owner; });
    message.release();
    return buffer;
}

} // namespace be
