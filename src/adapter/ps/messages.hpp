// SPDX-License-Identifier: BSD-3-Clause
//
// The bodies of the parameter server's calls. Numbers are little-endian; the counts are
// checked against the body's size before anything is read by them.
//
//   pull      u64 count, count × u64 key
//   answer    u64 count, count × { u64 version, u64 length }, then the values
//   push      PushHeader, count × { u64 key, u64 length }, then the values
//   answer    u64 mismatched
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace be::ps {

static_assert(std::endian::native == std::endian::little);

inline constexpr const char *pull_method = "be.ps.pull";
inline constexpr const char *push_method = "be.ps.push";
inline constexpr uint64_t absent = UINT64_MAX; // length of a value that is not there

struct Entry {
    uint64_t key; // or version
    uint64_t length;
};

struct PushHeader {
    uint64_t worker;
    uint64_t sequence; // of this worker and server, from 1
    uint64_t floor; // all below were answered
    uint32_t rule;
    float rate;
    uint64_t count;
};

// Reads a body from its front.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) noexcept : m_rest(bytes)
    {
    }

    template<class T>
    bool read(T &value) noexcept
    {
        if (m_rest.size() < sizeof(T)) {
            return false;
        }
        std::memcpy(&value, m_rest.data(), sizeof(T));
        m_rest = m_rest.subspan(sizeof(T));
        return true;
    }

    // `count` things of `size` bytes that follow; nothing is copied.
    bool take(uint64_t count, size_t size, std::span<const std::byte> &bytes) noexcept
    {
        if (count > m_rest.size() / size) {
            return false;
        }
        bytes  = m_rest.first(count * size);
        m_rest = m_rest.subspan(count * size);
        return true;
    }

    std::span<const std::byte> rest() const noexcept
    {
        return m_rest;
    }

private:
    std::span<const std::byte> m_rest;
};

template<class T>
T at(std::span<const std::byte> array, size_t index) noexcept
{
    T value;
    std::memcpy(&value, array.data() + index * sizeof(T), sizeof(T));
    return value;
}

// Do the lengths add up to exactly `total`?
inline bool
lengths_match(std::span<const std::byte> entries, uint64_t count, size_t total) noexcept
{
    for (uint64_t i = 0; i < count; i++) {
        const auto length = at<Entry>(entries, i).length;
        if (length == absent) {
            continue;
        }
        if (length > total) {
            return false;
        }
        total -= length;
    }
    return total == 0;
}

} // namespace be::ps
