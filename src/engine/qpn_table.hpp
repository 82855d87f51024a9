// SPDX-License-Identifier: BSD-3-Clause
//
// From the queue pair number of an arrival to whose it is: open addressing, linear probing, at most half full.
// find() is one multiplication and, nearly always, one probe.

#pragma once

#include <cstdint>
#include <vector>

namespace be::engine {

class QpnTable {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    QpnTable() : m_entries(16)
    {
    }

    // The value of `qpn`, or none.
    std::uint32_t find(std::uint32_t qpn) const noexcept
    {
        for (std::size_t i = slot(qpn);; i = (i + 1) & (m_entries.size() - 1)) {
            if (m_entries[i].qpn == qpn || m_entries[i].value == none) {
                return m_entries[i].value;
            }
        }
    }

    // Throws std::bad_alloc. `qpn` is not in the table; `value` is not none.
    void insert(std::uint32_t qpn, std::uint32_t value)
    {
        if (2 * (m_size + 1) > m_entries.size()) {
            std::vector<Entry> old(2 * m_entries.size());
            old.swap(m_entries);
            for (const Entry &entry : old) {
                if (entry.value != none) {
                    place(entry);
                }
            }
        }
        place({qpn, value});
        ++m_size;
    }

    void erase(std::uint32_t qpn) noexcept
    {
        const std::size_t mask = m_entries.size() - 1;
        std::size_t hole       = slot(qpn);
        while (m_entries[hole].qpn != qpn || m_entries[hole].value == none) {
            if (m_entries[hole].value == none) {
                return;
            }
            hole = (hole + 1) & mask;
        }
        // Close the gap: move back whatever would no longer be found across it.
        for (std::size_t i = (hole + 1) & mask; m_entries[i].value != none;
             i             = (i + 1) & mask) {
            if (((i - slot(m_entries[i].qpn)) & mask) >= ((i - hole) & mask)) {
                m_entries[hole] = m_entries[i];
                hole            = i;
            }
        }
        m_entries[hole] = Entry();
        --m_size;
    }

private:
    struct Entry {
        std::uint32_t qpn   = 0;
        std::uint32_t value = none;
    };

    // Multiplicative hashing with 2^32 / golden ratio (Knuth, TAOCP 3, 6.4).
    std::size_t slot(std::uint32_t qpn) const noexcept
    {
        return (qpn * 2654435769u >> 8) & (m_entries.size() - 1);
    }

    void place(const Entry &entry) noexcept
    {
        std::size_t i = slot(entry.qpn);
        while (m_entries[i].value != none) {
            i = (i + 1) & (m_entries.size() - 1);
        }
        m_entries[i] = entry;
    }

    std::vector<Entry> m_entries;
    std::size_t m_size = 0;
};

} // namespace be::engine
