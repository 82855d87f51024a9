// SPDX-License-Identifier: BSD-3-Clause
//
// Owner of one verbs object: movable, destroys through the table it came from.
//
// Order: objects refer to others by raw pointer (a queue pair to its protection domain
// and queues), so members are declared in creation order and destroyed in the reverse. A
// destroy that verbs refuses (EBUSY: something still refers to the object) leaks the
// object and is counted in failed_destroys(), which tests hold at zero.
#pragma once

#include "verbs/table.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace be::verbs {

inline std::atomic<uint64_t> &failed_destroys()
{
    static std::atomic<uint64_t> count{0};
    return count;
}

template<typename Object, int (*Table::*Destroy)(Object *)>
class Handle {
public:
    Handle() = default;

    Handle(const Table &table, Object *object) : m_table(&table), m_object(object)
    {
    }

    Handle(Handle &&other) noexcept :
        m_table(other.m_table), m_object(std::exchange(other.m_object, nullptr))
    {
    }

    Handle &operator=(Handle &&other) noexcept
    {
        if (this != &other) {
            reset();
            m_table  = other.m_table;
            m_object = std::exchange(other.m_object, nullptr);
        }
        return *this;
    }

    ~Handle()
    {
        reset();
    }

    void reset() noexcept
    {
        Object *object = std::exchange(m_object, nullptr);
        if ((object != nullptr) && ((m_table->*Destroy)(object) != 0)) {
            failed_destroys().fetch_add(1, std::memory_order_relaxed);
        }
    }

    Object *get() const noexcept
    {
        return m_object;
    }

    Object *operator->() const noexcept
    {
        return m_object;
    }

    const Table &table() const noexcept
    {
        return *m_table;
    }

    explicit operator bool() const noexcept
    {
        return m_object != nullptr;
    }

private:
    const Table *m_table = nullptr;
    Object *m_object     = nullptr;
};

} // namespace be::verbs
