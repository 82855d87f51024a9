// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/chain.hpp>
#include <byteexpress/export.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/uio.h>

namespace be {

/**
 * What a call carries: any number of pieces of memory that go out as one, without being
 * copied together. A received body has one piece.
 *
 * A body shares the ownership of its memory (copies are cheap and refer to the same
 * bytes), except for borrowed pieces. The bytes must not change while a call is under
 * way.
 *
 * Threads: as a shared_ptr: distinct bodies may be used by distinct threads even when
 * they refer to the same bytes.
 */
class BE_API Body {
public:
    /** No bytes. */
    Body() noexcept;
    Body(const Body &);
    Body(Body &&) noexcept;
    Body &operator=(const Body &);
    Body &operator=(Body &&) noexcept;
    ~Body();

    /** One piece, `bytes`, which `owner` keeps alive; that may be anything. */
    Body(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

    /** The slices of `chain`, kept alive by them, except for those that are borrowed. */
    explicit Body(const Chain &chain);

    /** A copy of `bytes`, which the body owns. */
    static Body copy(std::span<const std::byte> bytes);
    /** The same of a text. */
    static Body copy(std::string_view text);
    /** Owns `bytes`; nothing is copied. */
    static Body take(std::vector<std::byte> &&bytes);
    /** The same of a text. */
    static Body take(std::string &&text);

    /**
     * Refers to memory of the caller, who keeps it valid and unchanged until the call has
     * ended. A call that was cancelled or is late then ends only when the transport has
     * let go of the memory.
     */
    static Body borrow(std::span<const std::byte> bytes);

    /** Puts the pieces of `other` behind those of this body. */
    void append(const Body &other);

    /** Bytes of all pieces. */
    std::size_t size() const noexcept
    {
        return m_size;
    }

    /** No bytes. */
    bool empty() const noexcept
    {
        return m_size == 0;
    }

    /** True if any piece is borrowed. */
    bool borrowed() const noexcept
    {
        return m_borrowed;
    }

    /** The pieces in their order; none of them is empty. */
    std::span<const iovec> parts() const noexcept;

    /**
     * The bytes of a body of at most one piece.
     *
     * @throws std::logic_error for more pieces: use flat().
     */
    std::span<const std::byte> bytes() const;

    /** bytes() as text. */
    std::string_view text() const;

    /** This body if it has at most one piece, else a copy in one piece. */
    Body flat() const;

    /** Copies size() bytes to `to`. */
    void copy_to(void *to) const noexcept;

private:
    void add(const iovec &part, std::shared_ptr<const void> owner);

    std::size_t m_size = 0;
    iovec m_first{}; // the only piece, while m_parts is empty
    std::shared_ptr<const void> m_owner;
    bool m_borrowed = false;
    std::vector<iovec> m_parts; // all pieces, when there are several
    std::vector<std::shared_ptr<const void>> m_owners; // of m_parts from the second on
};

} // namespace be
