// SPDX-License-Identifier: BSD-3-Clause
//
// One put or get on its way: cut into pieces as the window admits them, done when its last piece is.

#pragma once

#include "engine/c_api.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>

namespace be::engine {

struct BulkOperation {
    enum class Kind : std::uint8_t {
        put,
        get
    };

    BulkOperation *next     = nullptr; // in the peer's queue, or the free list
    Kind kind               = Kind::put;
    bool posted_any         = false; // a zero-length operation still posts one piece
    std::uint8_t sge_count  = 0;
    std::uint8_t sge_index  = 0; // first entry not posted entirely
    be_status_t status      = BE_OK; // the first failure of a piece
    std::uint32_t rkey      = 0;
    std::uint32_t in_flight = 0; // pieces posted, not retired
    std::uint64_t after = 0; // the message queue must have retired this many first (fence)
    std::uint64_t remote   = 0; // where the next piece goes
    std::size_t sge_offset = 0; // bytes of sge[sge_index] that are posted
    std::size_t unposted   = 0; // bytes
    std::array<be_sge_t, BE_MAX_SGE> sge{};
    void *completion = nullptr;

    // get_bcopy: where the data lands before it is unpacked.
    void *staging             = nullptr;
    void *unpack_func         = nullptr;
    void *unpack_arg          = nullptr;
    std::size_t unpack_length = 0;

    bool posted() const noexcept
    {
        return posted_any && unposted == 0;
    }
};

// First in, first out; owns nothing.
class BulkQueue {
public:
    bool empty() const noexcept
    {
        return m_head == nullptr;
    }

    BulkOperation *front() const noexcept
    {
        return m_head;
    }

    unsigned size() const noexcept
    {
        return m_size;
    }

    void push(BulkOperation *operation) noexcept
    {
        operation->next                             = nullptr;
        (m_head == nullptr ? m_head : m_tail->next) = operation;
        m_tail                                      = operation;
        ++m_size;
    }

    BulkOperation *pop() noexcept
    {
        BulkOperation *operation = m_head;
        m_head                   = operation->next;
        --m_size;
        return operation;
    }

private:
    BulkOperation *m_head = nullptr;
    BulkOperation *m_tail = nullptr;
    unsigned m_size       = 0;
};

// Where operations come from; grows, never shrinks, so that the steady state allocates nothing.
class BulkOperations {
public:
    // Null: no memory.
    BulkOperation *get() noexcept
    {
        if (m_free == nullptr) {
            try {
                return &m_storage.emplace_back();
            } catch (const std::bad_alloc &) {
                return nullptr;
            }
        }
        BulkOperation *operation = m_free;
        m_free                   = operation->next;
        *operation               = BulkOperation();
        return operation;
    }

    void put(BulkOperation *operation) noexcept
    {
        operation->next = m_free;
        m_free          = operation;
    }

private:
    std::deque<BulkOperation> m_storage; // addresses stay
    BulkOperation *m_free = nullptr;
};

} // namespace be::engine
