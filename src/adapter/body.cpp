// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/body.hpp>

#include "adapter/block_pool.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace be {

namespace {

iovec part_of(std::span<const std::byte> bytes) noexcept
{
    return {const_cast<std::byte *>(bytes.data()), bytes.size()};
}

} // namespace

Body::Body() noexcept               = default;
Body::Body(const Body &)            = default;
Body &Body::operator=(const Body &) = default;
Body::~Body()                       = default;

// A body that was moved from is empty: its size must not speak of pieces that are gone.
Body::Body(Body &&other) noexcept :
    m_size(std::exchange(other.m_size, 0)),
    m_first(std::exchange(other.m_first, iovec{})),
    m_owner(std::move(other.m_owner)),
    m_borrowed(std::exchange(other.m_borrowed, false)),
    m_parts(std::exchange(other.m_parts, {})),
    m_owners(std::exchange(other.m_owners, {}))
{
}

Body &Body::operator=(Body &&other) noexcept
{
    if (this != &other) {
        m_size     = std::exchange(other.m_size, 0);
        m_first    = std::exchange(other.m_first, iovec{});
        m_owner    = std::move(other.m_owner);
        m_borrowed = std::exchange(other.m_borrowed, false);
        m_parts    = std::exchange(other.m_parts, {});
        m_owners   = std::exchange(other.m_owners, {});
    }
    return *this;
}

Body::Body(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
{
    add(part_of(bytes), std::move(owner));
}

Body::Body(const Chain &chain)
{
    for (const Buffer &slice : chain.slices()) {
        add(part_of(slice.bytes()), std::make_shared<Buffer>(slice));
    }
}

Body Body::copy(std::span<const std::byte> bytes)
{
    auto memory = adapter::unpooled(bytes.size());

    if (!bytes.empty()) {
        std::memcpy(memory.get(), bytes.data(), bytes.size());
    }
    return {memory, {memory.get(), bytes.size()}};
}

Body Body::copy(std::string_view text)
{
    return copy(std::as_bytes(std::span(text)));
}

Body Body::take(std::vector<std::byte> &&bytes)
{
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    return {owner, *owner};
}

Body Body::take(std::string &&text)
{
    auto owner = std::make_shared<std::string>(std::move(text));
    return {owner, std::as_bytes(std::span(*owner))};
}

Body Body::borrow(std::span<const std::byte> bytes)
{
    Body body(nullptr, bytes);
    body.m_borrowed = !bytes.empty();
    return body;
}

void Body::add(const iovec &part, std::shared_ptr<const void> owner)
{
    if (part.iov_len == 0) {
        return;
    }
    if (m_size == 0) {
        m_first = part;
        m_owner = std::move(owner);
    } else {
        if (m_parts.empty()) {
            m_parts.push_back(m_first);
        }
        m_parts.push_back(part);
        m_owners.push_back(std::move(owner));
    }
    m_size += part.iov_len;
}

void Body::append(const Body &other)
{
    // `other` may be this body
    const std::size_t count = other.parts().size();

    for (std::size_t i = 0; i < count; i++) {
        const iovec part = other.parts()[i];
        add(part, (i == 0) ? other.m_owner : other.m_owners[i - 1]);
    }
    m_borrowed = m_borrowed || other.m_borrowed;
}

std::span<const iovec> Body::parts() const noexcept
{
    if (!m_parts.empty()) {
        return m_parts;
    }
    return {&m_first, (m_size == 0) ? std::size_t{0} : std::size_t{1}};
}

std::span<const std::byte> Body::bytes() const
{
    if (!m_parts.empty()) {
        throw std::logic_error("be::Body::bytes: the body has " +
                               std::to_string(m_parts.size()) +
                               " pieces, expected at most 1; flat() joins them");
    }
    return {static_cast<const std::byte *>(m_first.iov_base), m_size};
}

std::string_view Body::text() const
{
    const auto all = bytes();
    return {reinterpret_cast<const char *>(all.data()), all.size()};
}

Body Body::flat() const
{
    if (m_parts.empty()) {
        return *this;
    }
    auto memory = adapter::pooled(m_size);
    copy_to(memory.get());
    return {memory, {memory.get(), m_size}};
}

void Body::copy_to(void *to) const noexcept
{
    auto *at = static_cast<std::byte *>(to);

    for (const iovec &part : parts()) {
        std::memcpy(at, part.iov_base, part.iov_len);
        at += part.iov_len;
    }
}

} // namespace be
