// SPDX-License-Identifier: BSD-3-Clause

#include "engine/queue_directory.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace be::engine {

std::uint32_t QueueDirectory::add(Peer &peer, bool bulk, std::uint32_t qpn)
{
    auto place = static_cast<std::uint32_t>(m_entries.size());
    if (!m_free.empty()) {
        place = m_free.back();
    } else if (place > place_mask) {
        throw std::runtime_error(
                fmt::format("the fabric has {} queue pairs, as many as it can hold",
                            place));
    } else {
        m_free.reserve(place + std::size_t{1}); // for remove()
        m_entries.emplace_back();
        m_free.push_back(place);
    }
    m_by_qpn.insert(qpn, place);
    m_free.pop_back();
    Entry &entry = m_entries[place];
    entry.peer   = &peer;
    entry.bulk   = bulk;
    return entry.generation << place_bits | place;
}

void QueueDirectory::remove(std::uint32_t tag, std::uint32_t qpn) noexcept
{
    const std::uint32_t place = tag & place_mask;
    Entry &entry              = m_entries[place];
    m_by_qpn.erase(qpn);
    entry.peer       = nullptr;
    entry.generation = (entry.generation + 1) & generation_mask;
    m_free.push_back(place);
}

} // namespace be::engine
