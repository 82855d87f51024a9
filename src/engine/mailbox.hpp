// SPDX-License-Identifier: BSD-3-Clause
//
// What a member has still to be told: a queue of one writer at a time (whoever holds the fabric's lock) and one reader
// (the member's worker), which needs no lock.
//
// Mails lie in chunks. A chunk that has been read is kept for the writer, so that the steady state allocates
// nothing; push() throws std::bad_alloc when there is no memory for another.

#pragma once

#include "engine/c_api.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace be::engine {

struct Mail {
    enum class Kind : std::uint8_t {
        message, // object: the payload in its receive buffer
        copy, // object: the payload in memory of its own, from malloc()
        completion, // object: the upper layer's
        data, // object: a BulkOperation whose data is to be unpacked
        failure // object: the Link
    };

    Kind kind            = Kind::message;
    std::uint8_t am_id   = 0;
    bool keep            = false; // message: the callee may
    be_status_t status   = BE_OK;
    std::uint32_t length = 0; // bytes of a payload
    void *object         = nullptr;
};

class Mailbox {
public:
    Mailbox() : m_writing(new Chunk), m_reading(m_writing)
    {
    }

    ~Mailbox()
    {
        for (Chunk *chunk = m_reading; chunk != nullptr;) {
            delete std::exchange(chunk, chunk->next);
        }
        delete m_spare.load();
    }

    Mailbox(const Mailbox &)            = delete;
    Mailbox &operator=(const Mailbox &) = delete;

    // Of the writer
    void push(const Mail &mail)
    {
        const std::uint64_t number = m_pushed.load(std::memory_order_relaxed);
        if ((number & mask) == 0 && number != 0) {
            Chunk *chunk = m_spare.exchange(nullptr, std::memory_order_acquire);
            if (chunk == nullptr) {
                chunk = new Chunk;
            }
            chunk->next     = nullptr;
            m_writing->next = chunk;
            m_writing       = chunk;
        }
        m_writing->mails[number & mask] = mail;
        m_pushed.store(number + 1, std::memory_order_release);
    }

    // Of the reader. False: empty.
    bool pop(Mail &mail) noexcept
    {
        const std::uint64_t number = m_popped.load(std::memory_order_relaxed);
        if (number == m_pushed.load(std::memory_order_acquire)) {
            return false;
        }
        if ((number & mask) == 0 && number != 0) {
            Chunk *read = m_reading;
            m_reading   = read->next;
            delete m_spare.exchange(read, std::memory_order_acq_rel);
        }
        mail = m_reading->mails[number & mask];
        m_popped.store(number + 1, std::memory_order_release);
        return true;
    }

    // Of the reader: true is certain. Of the writer: a mail may be in the reader's hands.
    bool empty() const noexcept
    {
        return m_popped.load(std::memory_order_relaxed) ==
               m_pushed.load(std::memory_order_acquire);
    }

    // Mails that wait; of either.
    std::uint64_t size() const noexcept
    {
        return m_pushed.load(std::memory_order_relaxed) -
               m_popped.load(std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t chunk_size = 64;
    static constexpr std::uint64_t mask       = chunk_size - 1;

    struct Chunk {
        std::array<Mail, chunk_size> mails;
        Chunk *next = nullptr;
    };

    std::atomic<std::uint64_t> m_pushed{0};
    Chunk *m_writing;
    alignas(64) std::atomic<std::uint64_t> m_popped{0};
    Chunk *m_reading;
    std::atomic<Chunk *> m_spare{nullptr};
};

} // namespace be::engine
