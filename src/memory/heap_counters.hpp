// SPDX-License-Identifier: BSD-3-Clause
//
// Counts of one thread, by owner and size class; sums over all threads are exact when none
// is at work.
//
// Threads: one writes, any may read.
#pragma once

#include "memory/size_class.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace be::memory {

class Counter {
public:
    void add(uint64_t count) noexcept
    {
        m_value.store(m_value.load(std::memory_order_relaxed) + count,
                      std::memory_order_relaxed);
    }

    uint64_t get() const noexcept
    {
        return m_value.load(std::memory_order_relaxed);
    }

private:
    std::atomic<uint64_t> m_value{0};
};

class HeapCounters {
public:
    static constexpr unsigned max_owners = 64;

    struct Class {
        Counter allocations;
        Counter frees;
        Counter requested; // bytes
    };
    struct Owner {
        std::array<Class, class_count> classes;

        void allocated(unsigned class_index, size_t requested) noexcept
        {
            classes[class_index].allocations.add(1);
            classes[class_index].requested.add(requested);
        }

        void freed(unsigned class_index) noexcept
        {
            classes[class_index].frees.add(1);
        }
    };

    HeapCounters() = default;
    ~HeapCounters();
    HeapCounters(const HeapCounters &)            = delete;
    HeapCounters &operator=(const HeapCounters &) = delete;

    // False: no memory; such events go uncounted.
    bool prepare(unsigned owner) noexcept;

    // The writer's. Null: prepare() comes first.
    Owner *prepared(unsigned owner) noexcept
    {
        return m_owners[owner].load(std::memory_order_relaxed);
    }

    void allocated(unsigned owner, unsigned class_index, size_t requested) noexcept
    {
        if (prepare(owner)) {
            prepared(owner)->allocated(class_index, requested);
        }
    }

    void freed(unsigned owner, unsigned class_index) noexcept
    {
        if (prepare(owner)) {
            prepared(owner)->freed(class_index);
        }
    }

    // Null: nothing was counted for it.
    const Owner *owner(unsigned number) const noexcept
    {
        return m_owners[number].load(std::memory_order_acquire);
    }

    void add(const HeapCounters &other) noexcept;

private:
    std::array<std::atomic<Owner *>, max_owners> m_owners{};
};

} // namespace be::memory
