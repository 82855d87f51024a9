// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace be::memory {
namespace {

constexpr size_t max_buffer = size_t{1}
                              << 30; // bytes; with max_chunk keeps the division exact
constexpr size_t min_stride = 2; // bytes: the reciprocal of 1 has 65 bits
constexpr size_t max_chunk  = size_t{1} << 31; // bytes
constexpr size_t min_slot   = 4096; // bytes: a page
constexpr size_t max_slot   = 256 * 1024; // bytes: large chunks are made of several slots
constexpr uint32_t max_pause = 65536; // calls of get() between two tries to grow

size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

PoolConfig checked(const PoolConfig &config)
{
    if ((config.buffer_size == 0) || (config.buffer_size > max_buffer)) {
        throw std::invalid_argument("buffer size of " +
                                    std::to_string(config.buffer_size) + " bytes: 1 to " +
                                    std::to_string(max_buffer) + " was expected");
    }
    if (!std::has_single_bit(config.alignment) || (config.alignment > min_slot)) {
        throw std::invalid_argument(
                "buffer alignment " + std::to_string(config.alignment) +
                ": a power of two up to " + std::to_string(min_slot) + " was expected");
    }
    if ((config.step == 0) || (config.cap == 0)) {
        throw std::invalid_argument(
                "a pool's step and cap must be at least 1 buffer, not " +
                std::to_string(config.step) + " and " + std::to_string(config.cap));
    }
    return config;
}

// Buffers of one growth, so that a chunk stays within max_chunk.
size_t chunk_buffers(const PoolConfig &config, size_t stride)
{
    return std::clamp<size_t>(std::min(config.step, config.cap), 1,
                              max_chunk / 2 / stride);
}

} // namespace

BufferPool::BufferPool(Arena &arena, const PoolConfig &config) :
    m_arena(arena),
    m_config(checked(config)),
    m_stride(round_up(std::max(config.buffer_size, min_stride), config.alignment)),
    m_lead(-config.align_offset & (config.alignment - 1)),
    m_slot(std::clamp(std::bit_ceil(m_lead + chunk_buffers(config, m_stride) * m_stride),
                      min_slot, max_slot)),
    m_chunk_length(round_up(m_lead + chunk_buffers(config, m_stride) * m_stride, m_slot)),
    m_per_chunk(static_cast<uint32_t>((m_chunk_length - m_lead) / m_stride)),
    m_reciprocal(UINT64_MAX / m_stride + 1),
    m_index(static_cast<unsigned>(std::countr_zero(m_slot)))
{
}

BufferPool::~BufferPool()
{
    for (const Chunk &chunk : m_chunks) {
        m_arena.free(chunk.block);
    }
}

bool BufferPool::grow(Growth growth)
{
    if (m_size >= m_config.cap) {
        m_last_error = "the pool's limit of " + std::to_string(m_config.cap) +
                       " buffers is reached";
        return false;
    }

    const Block block = m_arena.allocate(m_chunk_length, m_slot, &m_last_error, growth);
    if (!block) {
        ++m_stats.failures;
        return false;
    }
    try {
        add_chunk(block);
    } catch (...) {
        m_arena.free(block);
        throw;
    }
    ++m_stats.growths;
    return true;
}

void BufferPool::add_chunk(const Block &block)
{
    Chunk chunk;
    chunk.block   = block;
    chunk.first   = static_cast<char *>(block.address) + m_lead;
    chunk.buffers = std::min(m_per_chunk, m_config.cap - m_size);

    const auto number = static_cast<uint32_t>(m_chunks.size());
    m_chunks.reserve(m_chunks.size() + 1);
    m_free.reserve(m_size + chunk.buffers);
#ifdef BE_ENABLE_ASSERT
    m_out.resize(m_size + chunk.buffers, false);
#endif
    m_index.insert(block.address, m_chunk_length, number);
    m_chunks.push_back(chunk);

    m_peak = std::max(m_peak, static_cast<uint32_t>(m_size - m_least_free));
    for (uint32_t i = chunk.buffers; i > 0; --i) {
        m_free.push_back({chunk.first + (i - 1) * m_stride, block.lkey, m_size + i - 1});
    }
    m_size += chunk.buffers;
    m_least_free = m_free.size();
}

bool BufferPool::grow_for_get()
{
    if ((m_size < m_config.cap) && (m_retry_in > 0)) {
        --m_retry_in;
        ++m_stats.empty;
        return false;
    }

    if (grow(m_growth)) {
        m_retry_pause = 0;
        return true;
    }
    if (m_size < m_config.cap) {
        m_retry_pause = std::clamp<uint32_t>(m_retry_pause * 2, 1, max_pause);
        m_retry_in    = m_retry_pause;
    }
    ++m_stats.empty;
    return false;
}

Buffer BufferPool::at(uint32_t index) const noexcept
{
    const Chunk &chunk = m_chunks[index / m_per_chunk];
    return {chunk.first + (index % m_per_chunk) * m_stride, chunk.block.lkey, index};
}

bool BufferPool::reserve(uint32_t count)
{
    while (m_size < count) {
        if (!grow(Growth::now)) {
            return false;
        }
    }
    return true;
}

PoolStats BufferPool::stats() const noexcept
{
    PoolStats stats   = m_stats;
    stats.size        = m_size;
    stats.in_use      = m_size - available();
    stats.in_use_peak = std::max(m_peak, static_cast<uint32_t>(m_size - m_least_free));
    return stats;
}

#ifdef BE_ENABLE_ASSERT
void BufferPool::check_taken(const Buffer &buffer) noexcept
{
    if (m_out[buffer.index]) {
        fprintf(stderr, "buffer pool: buffer %u is free and in use\n", buffer.index);
        abort();
    }
    m_out[buffer.index] = true;
}

void BufferPool::check_returned(const Buffer &buffer) noexcept
{
    if ((buffer.index >= m_size) || !m_out[buffer.index]) {
        fprintf(stderr, "buffer pool: buffer %u came back twice\n", buffer.index);
        abort();
    }
    m_out[buffer.index] = false;
}
#endif

} // namespace be::memory
