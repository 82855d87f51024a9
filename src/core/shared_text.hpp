// SPDX-License-Identifier: BSD-3-Clause
//
// A short text in memory that one process writes while another reads it: in words, so that no access is torn. Who reads
// finds out by other means whether they are all of one text.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace be::core {

template<std::size_t Size>
class SharedText {
public:
    static_assert(Size % sizeof(std::uint64_t) == 0);

    // Cut off where it does not fit.
    void store(std::string_view text) noexcept
    {
        for (std::size_t w = 0; w < m_words.size(); ++w) {
            std::uint64_t word = 0;
            for (std::size_t b = 0; b < sizeof(word); ++b) {
                const std::size_t at = w * sizeof(word) + b;
                const auto byte      = at < text.size() ?
                                               static_cast<unsigned char>(text[at]) :
                                               0u;
                word |= std::uint64_t{byte} << (8 * b);
            }
            m_words[w].store(word, std::memory_order_release);
        }
    }

    std::string load() const
    {
        std::string text;
        for (const auto &cell : m_words) {
            const std::uint64_t word = cell.load(std::memory_order_acquire);
            for (std::size_t b = 0; b < sizeof(word); ++b) {
                const auto byte = static_cast<char>(word >> (8 * b) & 0xff);
                if (byte == '\0') {
                    return text;
                }
                text += byte;
            }
        }
        return text;
    }

private:
    std::array<std::atomic<std::uint64_t>, Size / sizeof(std::uint64_t)> m_words;
};

} // namespace be::core
