// SPDX-License-Identifier: BSD-3-Clause
//
// The receives of a fabric: buffers from one pool, posted in batches to the shared receive queue.
//
// A buffer is, from its start: room that belongs to the upper layer, the 16-byte data header, the payload. The
// device writes header and payload. Whoever keeps a payload has the room in front of it for its descriptor.
//
// posted() counts what the device holds. Buffers the upper layer keeps are replaced from the pool while it
// lasts; exhausted() says that it does not, and that a message must be copied out by its receiver.

#pragma once

#include "memory/pool.hpp"
#include "verbs/shared_receive_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace be::engine {

struct ReceiveLayout {
    std::size_t payload_offset = 0; // bytes from the start of the buffer
    std::size_t buffer_size    = 0; // bytes
    std::size_t alignment      = 0; // of (buffer + payload_offset + align_offset)
    std::size_t align_offset   = 0;

    // `headroom`: bytes that the upper layer wants in front of the payload; it keeps one pointer before them.
    static ReceiveLayout make(std::size_t segment_size, std::size_t headroom,
                              std::size_t alignment, std::size_t align_offset) noexcept;
};

class ReceiveRing {
public:
    // `capacity`: receives to have posted; `max_buffers`: those kept included. Throws verbs::Error,
    // std::invalid_argument, std::bad_alloc.
    ReceiveRing(const verbs::Context &context, const verbs::ProtectionDomain &pd,
                memory::Arena &arena, const ReceiveLayout &layout, unsigned capacity,
                unsigned max_capacity, unsigned max_buffers);

    verbs::SharedReceiveQueue &srq() noexcept
    {
        return m_srq;
    }

    std::byte *payload(void *buffer) const noexcept
    {
        return static_cast<std::byte *>(buffer) + m_layout.payload_offset;
    }

    // A receive of the device's came back, with or without a message.
    void consumed() noexcept
    {
        --m_posted;
    }

    // The buffer of a receive that completed: a work request names it by its number, so that nobody searches for it.
    memory::Buffer buffer_of(std::uint64_t wr_id) const noexcept
    {
        return m_buffers[wr_id - 1];
    }

    // The buffer is free again. Those that were kept come back by their payload.
    void release(const memory::Buffer &buffer) noexcept
    {
        m_pool.put(buffer);
    }

    void release_payload(void *payload) noexcept
    {
        (void)m_pool.put(static_cast<std::byte *>(payload) - m_layout.payload_offset);
    }

    // More receives are wanted: flow control lets the queue grow.
    void want(unsigned more) noexcept
    {
        m_target += more;
    }

    // Enough receives are missing to be worth a batch.
    bool batch_due() const noexcept
    {
        return m_target - m_posted >= m_batch;
    }

    bool missing() const noexcept
    {
        return m_posted < m_target;
    }

    // Posts what is missing, as far as there are buffers. Returns how many; *error is 0 or errno of the device.
    unsigned post(int *error) noexcept;

    // A buffer that its receiver keeps now could not be replaced: what is free is needed for
    // the receives that are missing.
    bool exhausted() const noexcept
    {
        return m_pool.size() >= m_max_buffers && m_pool.available() < m_target - m_posted;
    }

    unsigned posted() const noexcept
    {
        return m_posted;
    }

    memory::PoolStats buffers() const noexcept
    {
        return m_pool.stats();
    }

    // Why there are not more of them.
    const std::string &no_more_buffers() const noexcept
    {
        return m_pool.last_error();
    }

private:
    static constexpr unsigned chain_length = 32;

    ReceiveLayout m_layout;
    memory::BufferPool m_pool;
    std::vector<memory::Buffer>
            m_buffers; // by index, as far as they were posted; room for all
    verbs::SharedReceiveQueue m_srq;
    unsigned m_max_buffers;
    unsigned m_target;
    unsigned m_posted = 0;
    unsigned m_batch;
    std::array<ibv_recv_wr, chain_length> m_requests{};
    std::array<ibv_sge, chain_length> m_sges{};
};

} // namespace be::engine
