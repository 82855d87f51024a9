// SPDX-License-Identifier: BSD-3-Clause
#include "memory/thread_cache.hpp"

#include <algorithm>
#include <new>

namespace be::memory {
namespace {

constexpr size_t bin_bytes  = size_t{256} << 10; // of the blocks of one class
constexpr size_t most_count = 64; // blocks
constexpr size_t least      = 2; // blocks, also of the largest class

} // namespace

void HeapCounters::add(const HeapCounters &other) noexcept
{
    for (size_t i = 0; i < classes.size(); ++i) {
        classes[i].allocations.add(other.classes[i].allocations.get());
        classes[i].frees.add(other.classes[i].frees.get());
        classes[i].requested.add(other.classes[i].requested.get());
    }
    for (size_t i = 0; i < owners.size(); ++i) {
        owners[i].allocations.add(other.owners[i].allocations.get());
        owners[i].frees.add(other.owners[i].frees.get());
        owners[i].allocated.add(other.owners[i].allocated.get());
        owners[i].freed.add(other.owners[i].freed.get());
    }
}

uint32_t ThreadCache::capacity_of(unsigned class_index) noexcept
{
    return static_cast<uint32_t>(
            std::clamp(bin_bytes / class_size(class_index), least, most_count));
}

bool ThreadCache::prepare(unsigned class_index) noexcept
{
    Bin &bin = m_bins[class_index];
    if (bin.capacity == 0) {
        const uint32_t capacity = capacity_of(class_index);
        bin.blocks.reset(new (std::nothrow) void *[capacity]);
        bin.capacity = (bin.blocks != nullptr) ? capacity : 0;
    }
    return bin.capacity != 0;
}

uint32_t
ThreadCache::drain(unsigned class_index, uint32_t count, void *const **blocks) noexcept
{
    Bin &bin = m_bins[class_index];
    count    = std::min(count, bin.count);
    // The oldest go behind the others, which keep their order.
    std::rotate(bin.blocks.get(), bin.blocks.get() + count, bin.blocks.get() + bin.count);
    bin.count -= count;
    m_bytes.store(bytes() - count * class_size(class_index), std::memory_order_relaxed);
    *blocks = bin.blocks.get() + bin.count;
    return count;
}

} // namespace be::memory
