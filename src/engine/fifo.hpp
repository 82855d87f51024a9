// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of objects that link themselves (a member `T *next`), and where such objects come from. Neither allocates
// in the steady state; an object is in one of them at a time.

#pragma once

#include <deque>
#include <new>

namespace be::engine {

// First in, first out; owns nothing.
template<typename T>
class Fifo {
public:
    bool empty() const noexcept
    {
        return m_head == nullptr;
    }

    T *front() const noexcept
    {
        return m_head;
    }

    unsigned size() const noexcept
    {
        return m_size;
    }

    void push(T *object) noexcept
    {
        object->next                                = nullptr;
        (m_head == nullptr ? m_head : m_tail->next) = object;
        m_tail                                      = object;
        ++m_size;
    }

    T *pop() noexcept
    {
        T *object = m_head;
        m_head    = object->next;
        --m_size;
        return object;
    }

    template<typename Visit>
    void for_each(Visit &&visit)
    {
        for (T *object = m_head; object != nullptr; object = object->next) {
            visit(*object);
        }
    }

    // The first becomes the last. Not empty.
    void rotate() noexcept
    {
        if (m_size > 1) {
            push(pop());
        }
    }

private:
    T *m_head       = nullptr;
    T *m_tail       = nullptr;
    unsigned m_size = 0;
};

// Grows, never shrinks; addresses stay.
template<typename T>
class Stock {
public:
    // As new. Null: no memory.
    T *get() noexcept
    {
        if (m_free == nullptr) {
            try {
                return &m_storage.emplace_back();
            } catch (const std::bad_alloc &) {
                return nullptr;
            }
        }
        T *object = m_free;
        m_free    = object->next;
        *object   = T();
        return object;
    }

    void put(T *object) noexcept
    {
        object->next = m_free;
        m_free       = object;
    }

private:
    std::deque<T> m_storage;
    T *m_free = nullptr;
};

} // namespace be::engine
