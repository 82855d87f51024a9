// SPDX-License-Identifier: BSD-3-Clause
//
// FlatBuffers writes from the end to the beginning: a payload that is written first is what the frame ends with, and its
// length is right before it. So what is before the payload is that of a frame without one, but for the two
// lengths. FlatBuffers' own size prefix is the length of our frames. It shifts the content by 4 bytes against its
// alignment, which is right for Data alone: nothing in it is aligned to more.

#include "control/data_frame.hpp"

#include "control/block_cache.hpp"
#include "control/control_generated.h"
#include "control/frame.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace be::control {

namespace {

constexpr std::size_t length_size = 4;

// One block, on the stack.
template<std::size_t Size>
class StackAllocator : public flatbuffers::Allocator {
public:
    std::uint8_t *allocate(std::size_t size) override
    {
        if (size > Size) {
            throw std::bad_alloc(); // does not happen
        }
        return m_block.data();
    }

    void deallocate(std::uint8_t *, std::size_t) override
    {
    }

private:
    alignas(8) std::array<std::uint8_t, Size> m_block;
};

void put_length(std::uint8_t *to, std::size_t length) noexcept
{
    for (std::size_t i = 0; i < length_size; ++i) {
        to[i] = static_cast<std::uint8_t>(length >> (8 * i));
    }
}

} // namespace

DataFrame::DataFrame(const DataView &data) : m_payload(data.payload)
{
    static_assert(length_size == frame_header_size);
    static constexpr std::uint8_t none = 0;
    StackAllocator<most_head> allocator;
    flatbuffers::FlatBufferBuilder builder(most_head, &allocator);

    auto payload = builder.CreateVector(&none, 0);
    auto header  = builder.CreateVector(data.header.data(), data.header.size());
    auto body    = fb::CreateData(builder, data.kind, data.epoch, header, payload);
    fb::FinishSizePrefixedFrameBuffer(builder, fb::CreateFrame(builder, fb::Body::Data,
                                                               body.Union()));
    m_head_size = builder.GetSize();
    std::memcpy(m_head.data(), builder.GetBufferPointer(), m_head_size);
    put_length(m_head.data(), size() - frame_header_size);
    put_length(m_head.data() + m_head_size - length_size, m_payload.size());
}

std::array<iovec, 2> DataFrame::parts() const noexcept
{
    return {iovec{const_cast<std::uint8_t *>(m_head.data()), m_head_size},
            iovec{const_cast<std::uint8_t *>(m_payload.data()), m_payload.size()}};
}

Chunk DataFrame::copy(std::size_t offset) const
{
    const std::size_t length = size() - offset;
    std::shared_ptr<std::byte> block(take_block(length));
    auto *const begin = reinterpret_cast<std::uint8_t *>(block.get());
    auto *to          = begin;
    for (const iovec &part : parts()) {
        const auto *bytes      = static_cast<const std::uint8_t *>(part.iov_base);
        const std::size_t skip = std::min(offset, part.iov_len);
        to                     = std::copy_n(bytes + skip, part.iov_len - skip, to);
        offset -= skip;
    }
    return {block, {begin, length}, true};
}

} // namespace be::control
