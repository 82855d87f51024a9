// SPDX-License-Identifier: BSD-3-Clause
//
// The live objects of one kind, by the index under which peers address them. Indices are handed out in
// a cycle, so that a number is not reused soon after its object went away. The cycle is no longer than that
// takes: each index has its place in a table that is shared with peers, whose memory is taken at the first use
// and never given back. 0 is no index.
//
// Thread rules: all from any thread; a pointer from at() lives as long as the caller keeps the object
// from being destroyed (snapshot() does that by itself).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace softrdma {

template<class T>
class id_table {
public:
    // In indices. It doubles when more than half of them are in use.
    static constexpr uint32_t shortest_cycle = 1024;

    // Indices from `first` up to and without `capacity`; the cycle starts at a place given by `seed`.
    id_table(uint32_t first, uint32_t capacity, uint64_t seed) :
        m_first(first),
        m_start(static_cast<uint32_t>(seed % (capacity - first))),
        m_cycle(std::min(shortest_cycle, capacity - first)),
        m_objects(capacity),
        m_fast(capacity)
    {
    }

    // A free index, 0 when there is none. It stays reserved until erase().
    uint32_t reserve()
    {
        std::lock_guard lock(m_mutex);
        uint32_t all = static_cast<uint32_t>(m_objects.size()) - m_first;
        if (2 * (m_used + 1) > m_cycle) {
            m_cycle = std::min(all, 2 * m_cycle);
        }
        for (uint32_t i = 0; i < m_cycle; ++i) {
            uint32_t index = m_first + (m_start + m_next) % all;
            m_next         = (m_next + 1) % m_cycle;
            if (!m_objects[index].used) {
                m_objects[index].used = true;
                ++m_used;
                return index;
            }
        }
        return 0;
    }

    void publish(uint32_t index, std::shared_ptr<T> object)
    {
        std::lock_guard lock(m_mutex);
        m_fast[index].store(object.get(), std::memory_order_release);
        m_objects[index].object = std::move(object);
    }

    // Makes the object invisible but keeps the index. The table's reference is returned.
    std::shared_ptr<T> withdraw(uint32_t index)
    {
        std::lock_guard lock(m_mutex);
        m_fast[index].store(nullptr, std::memory_order_release);
        return std::move(m_objects[index].object);
    }

    void erase(uint32_t index)
    {
        std::lock_guard lock(m_mutex);
        m_fast[index].store(nullptr, std::memory_order_release);
        m_objects[index].object.reset();
        m_used -= m_objects[index].used;
        m_objects[index].used = false;
    }

    // The object, kept alive; null when there is none.
    std::shared_ptr<T> find(uint32_t index)
    {
        std::lock_guard lock(m_mutex);
        return (index < m_objects.size()) ? m_objects[index].object : nullptr;
    }

    T *at(uint32_t index) const
    {
        return (index < m_fast.size()) ? m_fast[index].load(std::memory_order_acquire) :
                                         nullptr;
    }

    std::vector<std::shared_ptr<T>> snapshot()
    {
        std::vector<std::shared_ptr<T>> result;
        std::lock_guard lock(m_mutex);
        for (const entry &candidate : m_objects) {
            if (candidate.object != nullptr) {
                result.push_back(candidate.object);
            }
        }
        return result;
    }

private:
    struct entry {
        bool used = false;
        std::shared_ptr<T> object;
    };

    std::mutex m_mutex;
    const uint32_t m_first;
    const uint32_t m_start; // of the cycle, behind m_first
    uint32_t m_cycle; // indices in it
    uint32_t m_next = 0; // place in it
    uint32_t m_used = 0;
    std::vector<entry> m_objects;
    std::vector<std::atomic<T *>> m_fast;
};

} // namespace softrdma
