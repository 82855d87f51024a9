// SPDX-License-Identifier: BSD-3-Clause
//
// A reference-counted slice of memory. Copying a Buffer, or cutting it, shares the bytes.
//
// Threads: the count is atomic, so copies of one buffer may live in different threads; one
// Buffer object belongs to one thread at a time.
#pragma once

#include <byteexpress/allocator.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace be {

// A slice of memory, or of nothing.
class BE_API Buffer {
public:
    // Runs once, when the last slice of foreign memory goes; in the thread that drops it.
    using Release = std::function<void(void *data)>;

    Buffer() noexcept = default; // empty

    // New memory, its content undefined. Throws std::bad_alloc.
    static Buffer
    allocate(Allocator &memory, std::size_t length, Allocator::Owner owner = 0);
    // Throws std::bad_alloc.
    static Buffer copy_of(Allocator &memory, const void *data, std::size_t length,
                          Allocator::Owner owner = 0);
    // Memory of somebody else's, who is told when it is not needed any more. When this
    // throws, `release` has not run.
    static Buffer adopt(void *data, std::size_t length, Release release);
    // Memory that stays for as long as any slice does. It is not written to.
    static Buffer borrow(const void *data, std::size_t length) noexcept;

    // Shares the bytes.
    Buffer(const Buffer &other) noexcept :
        m_storage(other.m_storage), m_data(other.m_data), m_length(other.m_length)
    {
        if (m_storage != nullptr) {
            m_storage->references.fetch_add(1, std::memory_order_relaxed);
        }
    }

    // Leaves `other` empty.
    Buffer(Buffer &&other) noexcept :
        m_storage(std::exchange(other.m_storage, nullptr)),
        m_data(std::exchange(other.m_data, nullptr)),
        m_length(std::exchange(other.m_length, 0))
    {
    }

    // Lets go of the old slice.
    Buffer &operator=(Buffer other) noexcept
    {
        swap(other);
        return *this;
    }

    ~Buffer()
    {
        if ((m_storage != nullptr) &&
            (m_storage->references.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
            m_storage->destroy(m_storage);
        }
    }

    // Exchanges two slices; no byte moves.
    void swap(Buffer &other) noexcept
    {
        std::swap(m_storage, other.m_storage);
        std::swap(m_data, other.m_data);
        std::swap(m_length, other.m_length);
    }

    // The first byte; null when empty.
    std::byte *data() const noexcept
    {
        return m_data;
    }

    // Bytes.
    std::size_t size() const noexcept
    {
        return m_length;
    }

    // No bytes.
    bool empty() const noexcept
    {
        return m_length == 0;
    }

    // All of it. Written to only by who is unique(), or knows that nobody else reads.
    std::span<std::byte> bytes() const noexcept
    {
        return {m_data, m_length};
    }

    // The bytes as text.
    std::string_view text() const noexcept
    {
        return {reinterpret_cast<const char *>(m_data), m_length};
    }

    // Nobody else holds a slice of the same memory: it may be written to.
    bool unique() const noexcept
    {
        return (m_storage != nullptr) &&
               (m_storage->references.load(std::memory_order_acquire) == 1);
    }

    // Throws std::out_of_range that names the three numbers, as split() does.
    Buffer slice(std::size_t offset, std::size_t length) const;

    // Keeps the first `at` bytes and returns the rest.
    Buffer split(std::size_t at);

    // At most all of them.
    void drop_front(std::size_t count) noexcept;
    // The same at the end.
    void drop_back(std::size_t count) noexcept;

    // What the first byte is followed by without a gap: `next` begins where this ends, in
    // the same memory. Then both can be one slice, see Chain::append().
    bool continues_in(const Buffer &next) const noexcept
    {
        return (m_storage != nullptr) && (m_storage == next.m_storage) &&
               (m_data + m_length == next.m_data);
    }

    // Takes `next`, which continues this one, as part of it.
    void extend(const Buffer &next) noexcept
    {
        m_length += next.m_length;
    }

private:
    struct Storage {
        std::atomic<std::uint32_t> references{1};
        void (*destroy)(Storage *) noexcept = nullptr;
    };
    struct Owned;
    struct Foreign;

    Buffer(Storage *storage, void *data, std::size_t length) noexcept :
        m_storage(storage), m_data(static_cast<std::byte *>(data)), m_length(length)
    {
    }

    Storage *m_storage   = nullptr; // null: borrowed, or empty
    std::byte *m_data    = nullptr;
    std::size_t m_length = 0;
};

} // namespace be
