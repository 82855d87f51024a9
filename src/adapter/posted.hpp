// SPDX-License-Identifier: BSD-3-Clause
//
// What threads hand to whoever holds a worker's lock: a lock-free stack that is taken as
// a whole, in the order in which it was filled. Nothing is allocated.
#pragma once

#include <atomic>

namespace be::adapter {

// Is in at most one queue at a time; its owner keeps it alive until it has run.
struct Posted {
    using Run = void (*)(Posted &);

    explicit Posted(Run function) noexcept : run(function)
    {
    }

    Posted *next = nullptr;
    Run run;
};

class PostedQueue {
public:
    void push(Posted &item) noexcept
    {
        Posted *head = m_head.load(std::memory_order_relaxed);
        do {
            item.next = head;
        } while (!m_head.compare_exchange_weak(head, &item, std::memory_order_seq_cst,
                                               std::memory_order_relaxed));
    }

    bool empty() const noexcept
    {
        return m_head.load(std::memory_order_seq_cst) == nullptr;
    }

    // Runs all that is there; one thread at a time. How many ran.
    unsigned run()
    {
        if (m_head.load(std::memory_order_relaxed) == nullptr) {
            return 0;
        }
        Posted *reversed = m_head.exchange(nullptr, std::memory_order_acquire);
        Posted *first    = nullptr;
        while (reversed != nullptr) {
            Posted *next   = reversed->next;
            reversed->next = first;
            first          = reversed;
            reversed       = next;
        }
        unsigned count = 0;
        while (first != nullptr) {
            Posted *next = first->next; // run() may free it or post it again
            first->run(*first);
            first = next;
            count++;
        }
        return count;
    }

private:
    std::atomic<Posted *> m_head = nullptr;
};

} // namespace be::adapter
