// SPDX-License-Identifier: BSD-3-Clause
#include "memory/thread_cache.hpp"

#include <algorithm>
#include <new>

namespace be::memory {
namespace {

constexpr size_t bin_bytes    = size_t{256} << 10; // of the blocks of one class, at most
constexpr size_t most_blocks  = 64;
constexpr size_t least_blocks = 2; // also of the largest class
constexpr uint32_t first_blocks = 8; // room of a bin at first

} // namespace

uint32_t ThreadCache::most(unsigned class_index) noexcept
{
    return static_cast<uint32_t>(
            std::clamp(bin_bytes / class_size(class_index), least_blocks, most_blocks));
}

bool ThreadCache::widen(unsigned class_index) noexcept
{
    Bin &bin            = m_bins[class_index];
    const uint32_t most = ThreadCache::most(class_index);
    const uint32_t room = std::clamp(bin.room * 2, std::min(first_blocks, most), most);
    const size_t more   = (room - bin.room) * class_size(class_index);
    if ((more == 0) || (more > m_limit - m_room)) {
        return false;
    }
    if (bin.blocks == nullptr) {
        bin.blocks.reset(new (std::nothrow) void *[most]);
        if (bin.blocks == nullptr) {
            return false;
        }
    }
    bin.room = room;
    m_room += more;
    return true;
}

unsigned ThreadCache::victim(unsigned class_index) noexcept
{
    for (unsigned step = 0; step < class_count; ++step) {
        m_hand = (m_hand + 1) % class_count;
        if ((m_hand != class_index) && (m_bins[m_hand].room > 0)) {
            return m_hand;
        }
    }
    return class_count;
}

void ThreadCache::narrow(unsigned class_index) noexcept
{
    Bin &bin = m_bins[class_index];
    m_room -= (bin.room - bin.count) * class_size(class_index);
    bin.room = bin.count;
}

uint32_t
ThreadCache::drain(unsigned class_index, uint32_t count, void *const **blocks) noexcept
{
    Bin &bin            = m_bins[class_index];
    const uint32_t held = bin.count.load(std::memory_order_relaxed);
    count               = std::min(count, held);
    // The oldest go behind the others, which keep their order.
    std::rotate(bin.blocks.get(), bin.blocks.get() + count, bin.blocks.get() + held);
    bin.count.store(held - count, std::memory_order_relaxed);
    *blocks = bin.blocks.get() + (held - count);
    return count;
}

size_t ThreadCache::bytes() const noexcept
{
    size_t bytes = 0;
    for (unsigned i = 0; i < class_count; ++i) {
        bytes += count(i) * class_size(i);
    }
    return bytes;
}

} // namespace be::memory
