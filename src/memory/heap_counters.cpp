// SPDX-License-Identifier: BSD-3-Clause
#include "memory/heap_counters.hpp"

#include <new>

namespace be::memory {

HeapCounters::~HeapCounters()
{
    for (const std::atomic<Owner *> &owner : m_owners) {
        delete owner.load(std::memory_order_relaxed);
    }
}

bool HeapCounters::prepare(unsigned owner) noexcept
{
    if (m_owners[owner].load(std::memory_order_relaxed) == nullptr) {
        m_owners[owner].store(new (std::nothrow) Owner, std::memory_order_release);
    }
    return m_owners[owner].load(std::memory_order_relaxed) != nullptr;
}

void HeapCounters::add(const HeapCounters &other) noexcept
{
    for (unsigned number = 0; number < max_owners; ++number) {
        const Owner *from = other.owner(number);
        if ((from == nullptr) || !prepare(number)) {
            continue;
        }
        Owner &to = *m_owners[number].load(std::memory_order_relaxed);
        for (size_t i = 0; i < to.classes.size(); ++i) {
            to.classes[i].allocations.add(from->classes[i].allocations.get());
            to.classes[i].frees.add(from->classes[i].frees.get());
            to.classes[i].requested.add(from->classes[i].requested.get());
        }
    }
}

} // namespace be::memory
