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
//
// A queue outlives its queue pair: when one fails, another takes its place, and what was not retired keeps its number
// and is posted again (replay) or counts as done.

#pragma once

#include "engine/replay_ring.hpp"
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
        bulk, // object: a BulkOperation, of which this is a piece
        count, // the number of writes, for the peer
        cell, // credit for the peer
        notice // no data; only its immediate matters
    };

    Kind kind            = Kind::plain;
    std::uint8_t parts   = 0; // message: entries beyond the buffer, kept at its end
    std::uint16_t member = 0;
    std::uint32_t bytes  = 0; // charged to the window
    void *object         = nullptr;
    void *buffer         = nullptr; // staging buffer to give back, or null
    std::uint64_t value =
            0; // bulk: offset of the piece; count, cell: the word; notice: the immediate
    std::uint32_t length = 0; // bytes of a message, a put or a piece; else 0
    std::uint32_t key = 0; // lkey of the buffer; else the place of its record in the ring;
            // bulk: number of this write

    // Nobody waits for it, and it holds nothing but its record.
    bool forgotten() const noexcept
    {
        return kind == Kind::plain && buffer == nullptr && bytes == 0;
    }

    bool recorded() const noexcept
    {
        return length != 0 && kind != Kind::bulk &&
               (kind == Kind::direct || buffer == nullptr);
    }
};

class SendQueue {
public:
    SendQueue() = default;

    explicit SendQueue(unsigned capacity) :
        m_slots(std::make_unique<Slot[]>(first_ring)),
        m_mask(first_ring - 1),
        m_capacity(capacity),
        m_interval(capacity > 4 ? capacity / 4 : 1)
    {
    }

    // From now on it is this queue pair's, which is not to be used before start(). `tag` comes back in the upper half
    // of every wr_id.
    void attach(verbs::QueuePair qp, std::uint32_t tag) noexcept
    {
        m_qp.emplace(std::move(qp));
        m_tag        = tag;
        m_failed     = false;
        m_flushed    = true;
        m_replay_end = m_replay_last = 0;
        m_signalled_end              = 0;
    }

    void start() noexcept
    {
        m_flushed = false;
    }

    bool exists() const noexcept
    {
        return m_qp.has_value();
    }

    verbs::QueuePair &qp() noexcept
    {
        return *m_qp;
    }

    const verbs::QueuePair &qp() const noexcept
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

    // A completion that was asked for is still to come.
    bool awaits_completion() const noexcept
    {
        return m_retired < m_signalled_end;
    }

    // To be asked now and then: how often in a row before it was found to wait, and nothing had been retired since.
    unsigned silent_looks() noexcept
    {
        if (!awaits_completion() || m_looked_at != m_retired) {
            m_silent_looks = 0;
            m_looked_at    = m_retired;
            return 0;
        }
        return ++m_silent_looks;
    }

    // Room for what the next work request sends inline; null: no memory.
    std::byte *new_record(std::uint32_t size, std::uint32_t *place) noexcept
    {
        return m_records.add(size, place);
    }

    std::byte *record(const Slot &slot) const noexcept
    {
        return m_records.at(slot.key);
    }

    // Posts one work request; sets its wr_id and, where the queue needs it or `signal` asks for it, the
    // signalled flag. The caller has checked room() (or posts the marker). Returns 0 or errno.
    [[gnu::always_inline]] int
    post(ibv_send_wr &wr, const Slot &slot, bool signal) noexcept
    {
        if (m_posted - m_retired > m_mask && !grow()) [[unlikely]] {
            return ENOMEM;
        }
        if (signal || ++m_unsignalled >= m_interval) {
            wr.send_flags |= IBV_SEND_SIGNALED;
            m_unsignalled = 0;
        }
        m_slots[m_posted & m_mask] = slot;
        const int error            = post(wr, m_posted);
        m_posted += error == 0;
        if ((wr.send_flags & IBV_SEND_SIGNALED) != 0) {
            m_signalled_end = m_posted;
        }
        return error;
    }

    // As post(), but for the device: a replay will post it. 0 or ENOMEM.
    int keep(const Slot &slot) noexcept
    {
        if (m_posted - m_retired > m_mask && !grow()) {
            return ENOMEM;
        }
        m_slots[m_posted & m_mask] = slot;
        ++m_posted;
        return 0;
    }

    // Retires everything up to and including the work request whose number ends in `number`, and what a replay found to
    // be done behind it: calls done(slot) for each, oldest first. done() may post, and then has no slot any more.
    template<typename Done>
    void retire(std::uint32_t number, Done &&done)
    {
        const auto count = static_cast<std::int32_t>(
                end_behind(number) - static_cast<std::uint32_t>(m_retired));
        if (count > 0) {
            retire_until(m_retired + static_cast<std::uint32_t>(count), done);
        }
    }

    template<typename Done>
    void retire_all(Done &&done)
    {
        retire_until(m_posted, done);
    }

    // The work request whose number ends in `number` has failed and is not retired: it may have arrived or not. What
    // came before the first of those and asked for no completion went well.
    template<typename Done>
    void failed(std::uint32_t number, Done &&done)
    {
        if (!std::exchange(m_failed, true)) {
            retire(number - 1, done);
        }
        m_flushed |= end_behind(number) == static_cast<std::uint32_t>(m_posted);
    }

    // The device has let go of all that is posted.
    bool drained() const noexcept
    {
        return !exists() || idle() || m_flushed;
    }

    // The work request of that number, which is posted and not retired.
    const Slot &at(std::uint64_t number) const noexcept
    {
        return m_slots[number & m_mask];
    }

    // Of what is not retired, again(slot) tells what is to be posted once more, which repost(slot, number) does by way
    // of post_again() and returns 0 or errno. What needs it no more is done() as if it had completed, now or with what
    // comes behind it. Returns how many were posted, or -errno.
    template<typename Again, typename Repost, typename Done>
    int replay(Again &&again, Repost &&repost, Done &&done)
    {
        std::uint64_t first = m_retired;
        while (first != m_posted && !again(m_slots[first & m_mask])) {
            ++first;
        }
        retire_until(first, done);
        std::uint64_t last = m_posted;
        while (last != first && !again(m_slots[(last - 1) & m_mask])) {
            --last;
        }
        int count     = 0;
        m_unsignalled = 0;
        for (std::uint64_t number = first; number != last; ++number) {
            const Slot &slot = m_slots[number & m_mask];
            if (!again(slot)) {
                continue;
            }
            if (const int error = repost(slot, number); error != 0) {
                return -error;
            }
            ++count;
        }
        m_replay_last = last;
        m_replay_end  = m_posted;
        return count;
    }

    // For replay(); signalled. 0 or errno.
    int post_again(ibv_send_wr &wr, std::uint64_t number) noexcept
    {
        wr.send_flags |= IBV_SEND_SIGNALED;
        m_signalled_end = number + 1;
        return post(wr, number);
    }

private:
    // The number behind the work request of that number. What a replay left out at its end has none of its own on the
    // device: it goes with the last one that was posted.
    std::uint32_t end_behind(std::uint32_t number) const noexcept
    {
        const std::uint32_t end = number + 1;
        return m_retired < m_replay_last &&
                               end == static_cast<std::uint32_t>(m_replay_last) ?
                       static_cast<std::uint32_t>(m_replay_end) :
                       end;
    }

    int post(ibv_send_wr &wr, std::uint64_t number) noexcept
    {
        wr.wr_id = static_cast<std::uint64_t>(m_tag) << 32 |
                   static_cast<std::uint32_t>(number);
        ibv_send_wr *bad = nullptr;
        return m_qp->post_send(&wr, &bad);
    }

    template<typename Done>
    void retire_until(std::uint64_t end, Done &done)
    {
        while (m_retired != end && m_retired != m_posted) {
            const Slot &slot = m_slots[m_retired & m_mask];
            ++m_retired;
            if (slot.recorded()) {
                m_records.drop(slot.key, slot.length);
            }
            done(slot);
        }
    }

    static constexpr std::uint32_t first_ring = 8; // slots, a power of two

    // Doubles the ring: a few times in a queue's life. False: no memory.
    bool grow() noexcept
    {
        const std::uint32_t size = m_mask * 2 + 2;
        std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[size]);
        if (slots == nullptr) {
            return false;
        }
        for (std::uint64_t i = m_retired; i != m_posted; ++i) {
            slots[i & (size - 1)] = m_slots[i & m_mask];
        }
        m_slots = std::move(slots);
        m_mask  = size - 1;
        return true;
    }

    std::optional<verbs::QueuePair> m_qp;
    std::unique_ptr<Slot[]> m_slots;
    ReplayRing m_records;
    std::uint32_t m_mask    = 0;
    unsigned m_capacity     = 0;
    unsigned m_interval     = 1;
    unsigned m_unsignalled  = 0;
    unsigned m_reserved     = 0;
    std::uint32_t m_tag     = 0;
    bool m_failed           = false; // one was seen to, on this queue pair
    bool m_flushed          = false; // ... and so was the last; or none is posted on it
    std::uint64_t m_posted  = 0;
    std::uint64_t m_retired = 0;
    std::uint64_t m_signalled_end =
            0; // behind the last that asked for a completion, on this queue pair
    std::uint64_t m_looked_at   = 0; // silent_looks(): retired at the last look
    unsigned m_silent_looks     = 0;
    std::uint64_t m_replay_last = 0; // behind what the latest replay posted last
    std::uint64_t m_replay_end  = 0; // behind all that it knew of
};

} // namespace be::engine
