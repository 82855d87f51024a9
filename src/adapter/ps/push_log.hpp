// SPDX-License-Identifier: BSD-3-Clause
//
// Which pushes of one worker have been applied. The worker says below which number all
// were answered, so only those after it have to be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace be::ps {

class PushLog {
public:
    // Pushes that a worker may have unanswered at a server.
    static constexpr size_t window = 4096;

    enum class Verdict {
        fresh, // apply it, then note it
        repeated, // was applied; *result is what was answered
        refused, // below what was answered, or too many unanswered
    };

    // Held from look() until note(): a repeated push waits for the first to be applied.
    std::mutex mutex;

    Verdict look(uint64_t sequence, uint64_t floor, uint64_t *result)
    {
        if (floor > m_floor) {
            m_applied.erase(m_applied.begin(), m_applied.lower_bound(floor));
            m_floor = floor;
        }
        const auto at = m_applied.find(sequence);
        if (at != m_applied.end()) {
            *result = at->second;
            return Verdict::repeated;
        }
        if ((sequence < m_floor) || (m_applied.size() >= window)) {
            return Verdict::refused;
        }
        return Verdict::fresh;
    }

    void note(uint64_t sequence, uint64_t result)
    {
        m_applied.emplace(sequence, result);
    }

private:
    uint64_t m_floor = 0;
    std::map<uint64_t, uint64_t> m_applied; // number → answer
};

} // namespace be::ps
