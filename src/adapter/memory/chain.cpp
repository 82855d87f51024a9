// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/chain.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace be {
namespace {

// Calls visit(slice, first byte in it, bytes) for each slice that [offset, offset + length)
// touches.
template<class Visit>
void for_each_part(std::span<const Buffer> slices, std::size_t offset, std::size_t length,
                   Visit visit)
{
    for (const Buffer &one : slices) {
        if (length == 0) {
            break;
        }
        if (offset >= one.size()) {
            offset -= one.size();
            continue;
        }
        const std::size_t taken = std::min(one.size() - offset, length);
        visit(one, offset, taken);
        length -= taken;
        offset = 0;
    }
}

} // namespace

Chain::Chain(Chain &&other) noexcept :
    m_slices(std::move(other.m_slices)),
    m_first(std::exchange(other.m_first, 0)),
    m_length(std::exchange(other.m_length, 0))
{
    other.m_slices.clear();
}

Chain &Chain::operator=(Chain &&other) noexcept
{
    if (this != &other) {
        m_slices = std::move(other.m_slices);
        m_first  = std::exchange(other.m_first, 0);
        m_length = std::exchange(other.m_length, 0);
        other.m_slices.clear();
    }
    return *this;
}

void Chain::clear() noexcept
{
    m_slices.clear();
    m_first  = 0;
    m_length = 0;
}

void Chain::check(const char *what, std::size_t offset, std::size_t length) const
{
    if ((offset > m_length) || (length > m_length - offset)) {
        throw std::out_of_range(std::string(what) + " of " + std::to_string(length) +
                                " bytes at offset " + std::to_string(offset) +
                                " of a chain of " + std::to_string(m_length));
    }
}

void Chain::append(Buffer buffer)
{
    if (buffer.empty()) {
        return;
    }
    const std::size_t length = buffer.size();
    // Neighbours in one block become one slice again: fewer entries for the device.
    if (!empty() && m_slices.back().continues_in(buffer)) {
        m_slices.back().extend(buffer);
    } else {
        m_slices.push_back(std::move(buffer));
    }
    m_length += length;
}

void Chain::append(Chain chain)
{
    if (chain.empty()) {
        return;
    }
    if (empty()) {
        *this = std::move(chain);
        return;
    }
    m_slices.reserve(m_slices.size() + chain.slices().size());
    for (std::size_t i = chain.m_first; i < chain.m_slices.size(); ++i) {
        append(std::move(chain.m_slices[i]));
    }
}

// Moves the slices back, so that as many as there are now fit in front again.
void Chain::make_room_in_front(std::size_t slices)
{
    if (m_first >= slices) {
        return;
    }
    const std::size_t count = m_slices.size() - m_first;
    const std::size_t front = slices + count;
    std::vector<Buffer> moved(front + count);
    std::move(m_slices.begin() + static_cast<std::ptrdiff_t>(m_first), m_slices.end(),
              moved.begin() + static_cast<std::ptrdiff_t>(front));
    m_slices = std::move(moved);
    m_first  = front;
}

void Chain::prepend(Buffer buffer)
{
    if (buffer.empty()) {
        return;
    }
    make_room_in_front(1);
    m_length += buffer.size();
    m_slices[--m_first] = std::move(buffer);
}

void Chain::prepend(Chain chain)
{
    if (chain.empty()) {
        return;
    }
    make_room_in_front(chain.slices().size());
    for (std::size_t i = chain.m_slices.size(); i > chain.m_first; --i) {
        m_slices[--m_first] = std::move(chain.m_slices[i - 1]);
    }
    m_length += chain.m_length;
}

Chain Chain::slice(std::size_t offset, std::size_t length) const
{
    check("slice", offset, length);
    Chain part;
    for_each_part(slices(), offset, length,
                  [&](const Buffer &one, std::size_t from, std::size_t count) {
                      part.append(one.slice(from, count));
                  });
    return part;
}

Chain Chain::cut(std::size_t length)
{
    check("cut", 0, length);
    Chain front = slice(0, length);
    drop_front(length);
    return front;
}

Chain Chain::split(std::size_t at)
{
    check("split", at, 0);
    Chain rest = slice(at, m_length - at);
    drop_back(m_length - at);
    return rest;
}

void Chain::drop_front(std::size_t count) noexcept
{
    count = std::min(count, m_length);
    m_length -= count;
    while (count > 0) {
        Buffer &one = m_slices[m_first];
        if (count < one.size()) {
            one.drop_front(count);
            return;
        }
        count -= one.size();
        one = Buffer();
        ++m_first;
    }
    if (m_length == 0) {
        clear();
    }
}

void Chain::drop_back(std::size_t count) noexcept
{
    count = std::min(count, m_length);
    m_length -= count;
    while (count > 0) {
        Buffer &one = m_slices.back();
        if (count < one.size()) {
            one.drop_back(count);
            return;
        }
        count -= one.size();
        m_slices.pop_back();
    }
    if (m_length == 0) {
        clear();
    }
}

std::vector<iovec> Chain::iovecs() const
{
    std::vector<iovec> entries(slices().size());
    fill(entries.data(), entries.size());
    return entries;
}

std::size_t Chain::fill(iovec *entries, std::size_t room) const noexcept
{
    const auto all          = slices();
    const std::size_t count = std::min(room, all.size());
    for (std::size_t i = 0; i < count; ++i) {
        entries[i] = {all[i].data(), all[i].size()};
    }
    return count;
}

void Chain::copy_to(void *target, std::size_t offset, std::size_t length) const
{
    check("copy", offset, length);
    auto *to = static_cast<std::byte *>(target);
    for_each_part(slices(), offset, length,
                  [&](const Buffer &one, std::size_t from, std::size_t count) {
                      memcpy(to, one.data() + from, count);
                      to += count;
                  });
}

Buffer Chain::flatten(Allocator &memory) const
{
    if (slices().size() == 1) {
        return slices().front();
    }
    Buffer flat = Buffer::allocate(memory, m_length);
    copy_to(flat.data(), 0, m_length);
    return flat;
}

} // namespace be
