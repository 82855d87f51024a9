// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/buffer.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace be {

struct Buffer::Owned : Storage {
    static void end(Storage *storage) noexcept
    {
        auto *owned = static_cast<Owned *>(storage);
        owned->memory->free(owned->address, owned->length, Allocator::default_alignment,
                            owned->owner);
        delete owned;
    }

    Allocator *memory      = nullptr;
    void *address          = nullptr;
    std::size_t length     = 0;
    Allocator::Owner owner = 0;
};

struct Buffer::Foreign : Storage {
    static void end(Storage *storage) noexcept
    {
        auto *foreign = static_cast<Foreign *>(storage);
        foreign->release(foreign->data);
        delete foreign;
    }

    Release release;
    void *data = nullptr;
};

Buffer Buffer::allocate(Allocator &memory, std::size_t length, Allocator::Owner owner)
{
    if (length == 0) {
        return {};
    }
    auto owned     = std::make_unique<Owned>();
    owned->destroy = Owned::end;
    owned->memory  = &memory;
    owned->length  = length;
    owned->owner   = owner;
    owned->address = memory.try_allocate(length, Allocator::default_alignment, owner);
    if (owned->address == nullptr) {
        throw std::bad_alloc();
    }
    void *const address = owned->address;
    return {owned.release(), address, length};
}

Buffer Buffer::copy_of(Allocator &memory, const void *data, std::size_t length,
                       Allocator::Owner owner)
{
    Buffer buffer = allocate(memory, length, owner);
    if (length > 0) {
        memcpy(buffer.data(), data, length);
    }
    return buffer;
}

Buffer Buffer::adopt(void *data, std::size_t length, Release release)
{
    if (!release) {
        throw std::invalid_argument("adopted memory needs a release callback");
    }
    auto foreign     = std::make_unique<Foreign>();
    foreign->destroy = Foreign::end;
    foreign->release = std::move(release);
    foreign->data    = data;
    return {foreign.release(), data, length};
}

Buffer Buffer::borrow(const void *data, std::size_t length) noexcept
{
    return {nullptr, const_cast<void *>(data), length};
}

Buffer Buffer::slice(std::size_t offset, std::size_t length) const
{
    if ((offset > m_length) || (length > m_length - offset)) {
        throw std::out_of_range("slice of " + std::to_string(length) +
                                " bytes at offset " + std::to_string(offset) +
                                " of a buffer of " + std::to_string(m_length));
    }
    Buffer part(*this);
    part.m_data += offset;
    part.m_length = length;
    return part;
}

Buffer Buffer::split(std::size_t at)
{
    Buffer rest = slice(at, m_length - std::min(at, m_length));
    m_length    = at;
    return rest;
}

void Buffer::drop_front(std::size_t count) noexcept
{
    count = std::min(count, m_length);
    m_data += count;
    m_length -= count;
}

void Buffer::drop_back(std::size_t count) noexcept
{
    m_length -= std::min(count, m_length);
}

} // namespace be
