// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/block_pool.hpp"

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace be::adapter {

namespace {

constexpr size_t smallest   = 4096; // below, the C library does it
constexpr size_t largest    = size_t{64} << 20; // above, it goes back to the system
constexpr size_t most_kept  = size_t{256} << 20; // bytes, of all sizes together
constexpr size_t page_align = 4096;

class Pool {
public:
    std::byte *get(size_t size)
    {
        {
            std::lock_guard lock(m_mutex);
            auto &blocks = blocks_of(size);
            if (!blocks.empty()) {
                std::byte *block = blocks.back();
                blocks.pop_back();
                m_kept -= size;
                return block;
            }
        }
        return static_cast<std::byte *>(operator new(size, std::align_val_t(page_align)));
    }

    void put(std::byte *block, size_t size) noexcept
    {
        {
            std::lock_guard lock(m_mutex);
            auto &blocks = blocks_of(size);
            if ((size <= largest) && (m_kept + size <= most_kept) &&
                (blocks.size() < blocks.capacity())) {
                blocks.push_back(block);
                m_kept += size;
                return;
            }
        }
        operator delete(block, std::align_val_t(page_align));
    }

    Pool()
    {
        for (auto &blocks : m_blocks) {
            blocks.reserve(256); // so that put() cannot throw
        }
    }

private:
    std::vector<std::byte *> &blocks_of(size_t size) noexcept
    {
        const size_t index = static_cast<size_t>(std::countr_zero(size / smallest));
        return m_blocks[std::min(index, m_blocks.size() - 1)];
    }

    std::mutex m_mutex;
    size_t m_kept = 0;
    std::array<std::vector<std::byte *>, 16> m_blocks;
};

// Never destroyed: bodies may live in static objects.
Pool &pool()
{
    static Pool *const the_pool = new Pool;
    return *the_pool;
}

} // namespace

std::shared_ptr<std::byte[]> pooled(size_t size)
{
    if ((size < smallest) || (size > largest)) {
        return std::make_shared_for_overwrite<std::byte[]>(size);
    }
    const size_t rounded = std::bit_ceil(size);
    return {pool().get(rounded),
            [rounded](std::byte *block) { pool().put(block, rounded); }};
}

} // namespace be::adapter
