// SPDX-License-Identifier: BSD-3-Clause
//
// Whose queue pair a completion is of: arrivals tell by the queue pair's number, sends by a tag in their wr_id. A tag
// holds a place here and how often that place was used before, so that what a destroyed queue pair leaves in a
// completion queue is known as such.

#pragma once

#include "engine/qpn_table.hpp"

#include <cstdint>
#include <vector>

namespace be::engine {

class Peer;

class QueueDirectory {
public:
    struct Entry {
        Peer *peer               = nullptr;
        bool bulk                = false;
        std::uint32_t generation = 0;
    };

    // Returns the tag. Throws std::bad_alloc, and std::runtime_error when there are as many as a tag can name.
    std::uint32_t add(Peer &peer, bool bulk, std::uint32_t qpn);
    void remove(std::uint32_t tag, std::uint32_t qpn) noexcept;

    // Null: of nobody any more.
    Peer *by_qpn(std::uint32_t qpn) const noexcept
    {
        const std::uint32_t place = m_by_qpn.find(qpn);
        return place == QpnTable::none ? nullptr : m_entries[place].peer;
    }

    const Entry *by_tag(std::uint32_t tag) const noexcept
    {
        const Entry &entry = m_entries[tag & place_mask];
        return entry.peer != nullptr && entry.generation == tag >> place_bits ? &entry :
                                                                                nullptr;
    }

    std::size_t size() const noexcept
    {
        return m_entries.size() - m_free.size();
    }

private:
    static constexpr unsigned place_bits           = 20;
    static constexpr std::uint32_t place_mask      = (1u << place_bits) - 1;
    static constexpr std::uint32_t generation_mask = (1u << (32 - place_bits)) - 1;

    QpnTable m_by_qpn;
    std::vector<Entry> m_entries;
    std::vector<std::uint32_t> m_free;
};

} // namespace be::engine
