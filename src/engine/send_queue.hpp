// SPDX-License-Identifier: BSD-3-Clause
//
// The send side of one queue pair: which work requests are posted, what each must do when it is done, and
// which of them asks for a completion.
//
// Work requests are numbered from 0. A completion of number n retires every one up to n (an RC queue
// completes in order), so only some are signalled: those whose end somebody waits for, and one in every
// quarter of the queue, without which slots would never come free.
//
// Invariant: posted - retired <= capacity, the max_send_wr that the queue pair was created with. One slot is
// never given to ordinary work: the marker that flush and drain post must always find room.
//
// What is kept of each work request lies in a ring that grows with the most that were ever posted at once: an
// idle peer costs little, however deep its queues are.

#pragma once

#include "verbs/queue_pair.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace be::engine {

struct Slot {
    enum class Kind : std::uint8_t {
        plain, // nothing beyond the buffer
        marker, // nothing at all: only its completion matters
        notify, // object: the upper layer's completion, of `member`
        direct, // object: the Link of a put that is an operation by itself
        bulk // object: a BulkOperation, `bytes` of which this is
    };

    Kind kind            = Kind::plain;
    std::uint16_t member = 0;
    std::uint32_t bytes  = 0;
    void *object         = nullptr;
    void *buffer         = nullptr; // staging buffer to give back, or null
};

class SendQueue {
public:
    SendQueue() = default;

    // `tag` comes back in the upper half of every wr_id.
    SendQueue(verbs::QueuePair qp, unsigned capacity, std::uint32_t tag) :
        m_qp(std::move(qp)),
        m_slots(std::make_unique<Slot[]>(first_ring)),
        m_mask(first_ring - 1),
        m_capacity(capacity),
        m_interval(capacity > 4 ? capacity / 4 : 1),
        m_tag(tag)
    {
    }

    bool exists() const noexcept
    {
        return m_qp.has_value();
    }

    verbs::QueuePair &qp() noexcept
    {
        return *m_qp;
    }

    // The device lets go of everything that is posted. What is not retired can be, with retire_all().
    void destroy_qp() noexcept
    {
        m_qp.reset();
    }

    std::uint32_t tag() const noexcept
    {
        return m_tag;
    }

    // Work requests that ordinary work may still post.
    unsigned room() const noexcept
    {
        const auto used = static_cast<unsigned>(m_posted - m_retired) + m_reserved;
        return used + 1 < m_capacity ? m_capacity - 1 - used : 0;
    }

    // A place for one that room() promised, until unreserve(): others may post meanwhile.
    void reserve() noexcept
    {
        ++m_reserved;
    }

    void unreserve() noexcept
    {
        --m_reserved;
    }

    bool idle() const noexcept
    {
        return m_posted == m_retired;
    }

    std::uint64_t posted() const noexcept
    {
        return m_posted;
    }

    std::uint64_t retired() const noexcept
    {
        return m_retired;
    }

    // The newest work request will be completed without a marker.
    bool tail_signalled() const noexcept
    {
        return m_unsignalled == 0;
    }

    // Posts one work request; sets its wr_id and, where the queue needs it or `signal` asks for it, the
    // signalled flag. The caller has checked room() (or posts the marker). Returns 0 or errno.
    int post(ibv_send_wr &wr, const Slot &slot, bool signal) noexcept
    {
        if (m_posted - m_retired > m_mask && !grow()) [[unlikely]] {
            return ENOMEM;
        }
        if (signal || ++m_unsignalled >= m_interval) {
            wr.send_flags |= IBV_SEND_SIGNALED;
            m_unsignalled = 0;
        }
        wr.wr_id = static_cast<std::uint64_t>(m_tag) << 32 |
                   static_cast<std::uint32_t>(m_posted);
        m_slots[m_posted & m_mask] = slot;
        ibv_send_wr *bad           = nullptr;
        const int error            = m_qp->post_send(&wr, &bad);
        m_posted += error == 0;
        return error;
    }

    // Retires everything up to and including the work request whose number ends in `number`: calls done(slot) for
    // each, oldest first. done() may post.
    template<typename Done>
    void retire(std::uint32_t number, Done &&done)
    {
        const auto count = static_cast<std::int32_t>(
                                   number - static_cast<std::uint32_t>(m_retired)) +
                           1;
        if (count > 0) {
            retire_until(m_retired + static_cast<std::uint32_t>(count), done);
        }
    }

    template<typename Done>
    void retire_all(Done &&done)
    {
        retire_until(m_posted, done);
    }

private:
    template<typename Done>
    void retire_until(std::uint64_t end, Done &done)
    {
        while (m_retired != end && m_retired != m_posted) {
            const Slot slot = m_slots[m_retired & m_mask];
            ++m_retired;
            done(slot);
        }
    }

    static constexpr std::uint32_t first_ring = 16; // slots, a power of two

    // Doubles the ring: a few times in a queue's life. False: no memory.
    bool grow() noexcept
    {
        const std::uint32_t mask = m_mask * 2 + 1;
        std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[mask + std::size_t{1}]);
        if (slots == nullptr) {
            return false;
        }
        for (std::uint64_t i = m_retired; i != m_posted; ++i) {
            slots[i & mask] = m_slots[i & m_mask];
        }
        m_slots = std::move(slots);
        m_mask  = mask;
        return true;
    }

    std::optional<verbs::QueuePair> m_qp;
    std::unique_ptr<Slot[]> m_slots;
    std::uint32_t m_mask    = 0;
    unsigned m_capacity     = 0;
    unsigned m_interval     = 1;
    unsigned m_unsignalled  = 0;
    unsigned m_reserved     = 0;
    std::uint32_t m_tag     = 0;
    std::uint64_t m_posted  = 0;
    std::uint64_t m_retired = 0;
};

} // namespace be::engine
