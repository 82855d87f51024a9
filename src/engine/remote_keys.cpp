// SPDX-License-Identifier: BSD-3-Clause

#include "engine/remote_keys.hpp"

#include <algorithm>
#include <cstring>

namespace be::engine {
namespace {

// The last bytes of a write, which a program may wait for in its memory: who sees them sees all before them. A word
// where it belongs is written at once.
void publish(std::byte *to, const std::byte *from, std::size_t length) noexcept
{
    const auto store = [&](auto value) {
        std::memcpy(&value, from, sizeof(value));
        __atomic_store_n(reinterpret_cast<decltype(value) *>(to), value,
                         __ATOMIC_RELEASE);
        to += sizeof(value);
        from += sizeof(value);
        length -= sizeof(value);
    };
    while (length != 0) {
        const auto place = reinterpret_cast<std::uintptr_t>(to);
        if (length == sizeof(std::uint64_t) && place % sizeof(std::uint64_t) == 0) {
            store(std::uint64_t{});
        } else if (length == sizeof(std::uint32_t) &&
                   place % sizeof(std::uint32_t) == 0) {
            store(std::uint32_t{});
        } else {
            store(std::uint8_t{});
        }
    }
}

} // namespace

const char *to_string(Refusal refusal) noexcept
{
    switch (refusal) {
    case Refusal::none:
        return "nothing is wrong";
    case Refusal::key:
        return "the key is unknown";
    case Refusal::range:
        return "it goes beyond what was registered";
    case Refusal::rights:
        return "the key has no right to that";
    }
    return "the reason is unknown";
}

void RemoteKeys::add(std::uint32_t key, const void *address, std::size_t length,
                     unsigned access)
{
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)) == 0) {
        return;
    }
    const std::lock_guard lock(m_mutex);
    m_ranges.insert_or_assign(key, Range{reinterpret_cast<std::uint64_t>(address), length,
                                         access});
}

void RemoteKeys::remove(std::uint32_t key) noexcept
{
    const std::lock_guard lock(m_mutex);
    m_ranges.erase(key);
}

Refusal RemoteKeys::judge(std::uint32_t key, std::uint64_t address, std::size_t length,
                          unsigned access) const noexcept
{
    if (length == 0) {
        return Refusal::none;
    }
    const auto found = m_ranges.find(key);
    if (found == m_ranges.end()) {
        return Refusal::key;
    }
    const Range &range = found->second;
    if (address < range.begin || length > range.length ||
        address - range.begin > range.length - length) {
        return Refusal::range;
    }
    return (range.access & access) != 0 ? Refusal::none : Refusal::rights;
}

Refusal RemoteKeys::write(std::uint32_t key, std::uint64_t address, std::size_t whole,
                          std::size_t offset, std::span<const std::byte> data) noexcept
{
    constexpr std::size_t tail = sizeof(
            std::uint64_t); // at most a word that is waited for
    const std::lock_guard lock(m_mutex);
    const Refusal refusal = judge(key, address, whole, IBV_ACCESS_REMOTE_WRITE);
    if (refusal == Refusal::none && !data.empty()) {
        auto *to                = reinterpret_cast<std::byte *>(address) + offset;
        const std::size_t first = data.size() - std::min(data.size(), tail);
        std::memcpy(to, data.data(), first);
        publish(to + first, data.data() + first, data.size() - first);
    }
    return refusal;
}

Refusal RemoteKeys::readable(std::uint32_t key, std::uint64_t address,
                             std::size_t length) noexcept
{
    const std::lock_guard lock(m_mutex);
    return judge(key, address, length, IBV_ACCESS_REMOTE_READ);
}

} // namespace be::engine
