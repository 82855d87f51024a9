// SPDX-License-Identifier: BSD-3-Clause

#include "engine/receive_ring.hpp"

#include "core/wire.hpp"

#include <algorithm>

namespace be::engine {
namespace {

// Buffers per growth of the pool: 64 x 8 KiB is 512 KiB, an eighth of an arena step.
constexpr std::uint32_t pool_step = 64;

constexpr std::size_t cache_line = 64;

} // namespace

ReceiveLayout ReceiveLayout::make(std::size_t segment_size, std::size_t headroom,
                                  std::size_t alignment,
                                  std::size_t align_offset) noexcept
{
    ReceiveLayout layout;
    // One pointer in front of the headroom is UCT's, see uct_recv_desc().
    const std::size_t room = std::max(headroom + sizeof(void *), core::data_header_size);
    layout.payload_offset  = (room + cache_line - 1) & ~(cache_line - 1);
    layout.buffer_size     = layout.payload_offset + segment_size;
    layout.alignment       = std::max(alignment, cache_line);
    layout.align_offset    = layout.payload_offset + align_offset;
    return layout;
}

ReceiveRing::ReceiveRing(const verbs::Context &context, const verbs::ProtectionDomain &pd,
                         memory::Arena &arena, const ReceiveLayout &layout,
                         unsigned capacity, unsigned max_capacity, unsigned max_buffers) :
    m_layout(layout),
    m_pool(arena, {.buffer_size  = layout.buffer_size,
                   .alignment    = layout.alignment,
                   .align_offset = layout.align_offset,
                   .step         = std::min<std::uint32_t>(pool_step, max_buffers),
                   .cap          = max_buffers}),
    m_srq(context, pd, std::max(capacity, max_capacity)),
    m_max_buffers(max_buffers),
    m_target(capacity),
    m_batch(std::clamp(capacity / 8, 1u, chain_length))
{
    m_buffers.reserve(max_buffers);
    for (unsigned i = 0; i < chain_length; ++i) {
        m_requests[i].sg_list = &m_sges[i];
        m_requests[i].num_sge = 1;
    }
}

unsigned ReceiveRing::post(int *error) noexcept
{
    const auto length = static_cast<std::uint32_t>(
            m_layout.buffer_size - m_layout.payload_offset + core::data_header_size);
    unsigned total = 0;
    *error         = 0;

    while (m_posted < m_target) {
        unsigned count = 0;
        while (count < chain_length && m_posted + count < m_target) {
            const memory::Buffer buffer = m_pool.get();
            if (!buffer) {
                break;
            }
            m_sges[count] = {.addr = reinterpret_cast<std::uint64_t>(
                                             payload(buffer.address)) -
                                     core::data_header_size,
                             .length = length,
                             .lkey   = buffer.lkey};
            if (buffer.index >= m_buffers.size()) [[unlikely]] {
                m_buffers.resize(buffer.index + std::size_t{1});
            }
            m_buffers[buffer.index] = buffer;
            m_requests[count].wr_id = buffer.index + std::uint64_t{1};
            m_requests[count].next = &m_requests[count + 1 < chain_length ? count + 1 : 0];
            ++count;
        }
        if (count == 0) {
            break;
        }
        m_requests[count - 1].next = nullptr;

        ibv_recv_wr *bad    = nullptr;
        *error              = m_srq.post(m_requests.data(), &bad);
        const unsigned done = *error == 0 ?
                                      count :
                                      static_cast<unsigned>(bad - m_requests.data());
        for (unsigned i = done; i < count; ++i) {
            release(buffer_of(m_requests[i].wr_id));
        }
        m_posted += done;
        total += done;
        if (*error != 0) {
            break;
        }
    }
    // The first ones were worth waiting for.
    m_pool.grow_elsewhere();
    return total;
}

} // namespace be::engine
