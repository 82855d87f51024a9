// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace be::test {

namespace {

constexpr std::size_t GUARD       = 128; /* bytes on each side, more than any alignment */
constexpr std::size_t ALIGNMENT   = 64;
constexpr std::uint8_t GUARD_BYTE = 0xa5;

/* splitmix64: neighbouring words and seeds share nothing. */
std::uint64_t word(std::uint64_t seed, std::uint64_t index)
{
    std::uint64_t value = seed * 0x9e3779b97f4a7c15u + (index + 1) * 0xd1342543de82ef95u;
    value               = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value               = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Calls use(position, bytes, count) for every part of the range that lies in one word. */
template<typename Use>
void each_word(std::size_t length, std::uint64_t seed, std::size_t offset, Use use)
{
    for (std::size_t done = 0; done < length;) {
        const std::size_t at      = (offset + done) % 8;
        const std::size_t count   = std::min<std::size_t>(8 - at, length - done);
        const std::uint64_t value = word(seed, (offset + done) / 8);
        std::uint8_t bytes[8];
        std::memcpy(bytes, &value, 8);
        if (!use(done, bytes + at, count)) {
            return;
        }
        done += count;
    }
}

} // namespace

void pattern_fill(void *to, std::size_t length, std::uint64_t seed, std::size_t offset)
{
    auto *bytes = static_cast<std::uint8_t *>(to);
    each_word(length, seed, offset,
              [&](std::size_t at, const std::uint8_t *word, std::size_t n) {
                  std::memcpy(bytes + at, word, n);
                  return true;
              });
}

void pattern_check(const void *from, std::size_t length, std::uint64_t seed,
                   const std::string &what, std::size_t offset)
{
    const auto *bytes = static_cast<const std::uint8_t *>(from);
    std::size_t wrong = length;
    each_word(length, seed, offset,
              [&](std::size_t at, const std::uint8_t *word, std::size_t n) {
                  if (std::memcmp(bytes + at, word, n) == 0) {
                      return true;
                  }
                  wrong = at;
                  while (bytes[wrong] == word[wrong - at]) {
                      ++wrong;
                  }
                  return false;
              });
    if (wrong < length) {
        throw std::runtime_error(what + ": byte " + std::to_string(wrong) + " of " +
                                 std::to_string(length) + " is wrong (" +
                                 std::to_string(bytes[wrong]) + ")");
    }
}

GuardedBuffer::GuardedBuffer(std::size_t length, std::size_t misalignment) :
    m_memory(length + 2 * GUARD + 2 * ALIGNMENT, GUARD_BYTE), m_length(length)
{
    const auto base = reinterpret_cast<std::uintptr_t>(m_memory.data()) + GUARD;
    const auto data = (base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT +
                      misalignment % ALIGNMENT;
    m_start = data - reinterpret_cast<std::uintptr_t>(m_memory.data());
}

void GuardedBuffer::check_guards(const std::string &what) const
{
    const auto intact = [](std::uint8_t byte) { return byte == GUARD_BYTE; };
    const auto data   = m_memory.begin() + static_cast<std::ptrdiff_t>(m_start);
    if (!std::all_of(m_memory.begin(), data, intact)) {
        throw std::runtime_error(what + ": bytes before the buffer were overwritten");
    }
    if (!std::all_of(data + static_cast<std::ptrdiff_t>(m_length), m_memory.end(),
                     intact)) {
        throw std::runtime_error(what + ": bytes behind the buffer were overwritten");
    }
}

void GuardedBuffer::check(std::uint64_t seed, const std::string &what)
{
    pattern_check(data(), m_length, seed, what);
    check_guards(what);
}

} // namespace be::test
