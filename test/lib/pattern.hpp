// SPDX-License-Identifier: BSD-3-Clause
/*
 * Buffers whose content is known, and whose surroundings must stay as they were.
 */
#ifndef BE_TEST_LIB_PATTERN_HPP
#define BE_TEST_LIB_PATTERN_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace be::test {

/* Writes bytes [offset, offset + length) of the endless sequence named by `seed`. */
void pattern_fill(void *to, std::size_t length, std::uint64_t seed,
                  std::size_t offset = 0);
/* Throws std::runtime_error naming the first byte that differs. */
void pattern_check(const void *from, std::size_t length, std::uint64_t seed,
                   const std::string &what, std::size_t offset = 0);

/* `length` bytes at an address of that misalignment (bytes from a 64-byte boundary), with guard
 * bytes on both sides. */
class GuardedBuffer {
public:
    explicit GuardedBuffer(std::size_t length, std::size_t misalignment = 0);

    std::uint8_t *data()
    {
        return m_memory.data() + m_start;
    }
    std::size_t size() const
    {
        return m_length;
    }
    void fill(std::uint64_t seed)
    {
        pattern_fill(data(), m_length, seed);
    }
    /* Content and guards; `what` names the buffer in the exception. */
    void check(std::uint64_t seed, const std::string &what);
    void check_guards(const std::string &what) const;

private:
    std::vector<std::uint8_t> m_memory;
    std::size_t m_start;
    std::size_t m_length;
};

} // namespace be::test

#endif
