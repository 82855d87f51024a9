// SPDX-License-Identifier: BSD-3-Clause
//
// A message made of slices: parts are put in front, behind, cut off and split without
// copying a byte, and what it ends up as is handed to the device as it is.
//
// Cost: append, prepend and cut are O(slices moved), amortised O(1) for one slice.
// Threads: one at a time; its slices may be shared with other threads' chains.
#pragma once

#include <byteexpress/buffer.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include <sys/uio.h>

namespace be {

// Any number of slices, in order, none of them empty.
class BE_API Chain {
public:
    Chain() = default; // empty

    // A buffer is a chain of one.
    Chain(Buffer buffer) // NOLINT: not explicit
    {
        append(std::move(buffer));
    }

    Chain(const Chain &)            = default; // shares the bytes
    Chain &operator=(const Chain &) = default;
    Chain(Chain &&other) noexcept;
    Chain &operator=(Chain &&other) noexcept;

    // Behind what is there. An empty part leaves no slice. Throws std::bad_alloc, and has changed
    // nothing then.
    void append(Buffer buffer);
    // All slices of `chain`, in their order.
    void append(Chain chain);
    // In front of what is there. Throws as append().
    void prepend(Buffer buffer);
    // All slices of `chain`, in their order.
    void prepend(Chain chain);

    // Takes the first `length` bytes off and returns them. Throws std::out_of_range, as
    // split() does.
    Chain cut(std::size_t length);
    // Keeps the first `at` bytes and returns the rest.
    Chain split(std::size_t at);
    // The bytes [offset, offset + length), shared.
    Chain slice(std::size_t offset, std::size_t length) const;

    // At most all of them.
    void drop_front(std::size_t count) noexcept;
    // The same at the end.
    void drop_back(std::size_t count) noexcept;

    // Drops all slices.
    void clear() noexcept;

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

    // None of them is empty.
    std::span<const Buffer> slices() const noexcept
    {
        return {m_slices.data() + m_first, m_slices.size() - m_first};
    }

    // As writev() and the like take it.
    std::vector<iovec> iovecs() const;
    // The same into an array: fills at most `room` entries, returns how many.
    std::size_t fill(iovec *entries, std::size_t room) const noexcept;

    // Copies [offset, offset + length) out. Throws std::out_of_range.
    void copy_to(void *target, std::size_t offset, std::size_t length) const;

    // All bytes side by side: the one slice if there is one, else a copy. Throws
    // std::bad_alloc.
    Buffer flatten(Allocator &memory) const;

private:
    void check(const char *what, std::size_t offset, std::size_t length) const;
    void make_room_in_front(std::size_t slices);

    std::vector<Buffer> m_slices; // those before m_first are empty
    std::size_t m_first  = 0;
    std::size_t m_length = 0;
};

} // namespace be
