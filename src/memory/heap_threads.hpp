// SPDX-License-Identifier: BSD-3-Clause
//
// Which cache of which heap belongs to the calling thread; what happens when either ends.
#pragma once

#include "memory/heap.hpp"

#include <cstdint>

namespace be::memory {

class HeapThreads {
public:
    // The last heap that the thread used.
    struct Last {
        uint64_t heap      = 0; // Heap::m_id; 0: none
        ThreadCache *cache = nullptr; // set with it
    };

    // A number that no heap has had. Before the heap makes its mutexes.
    static uint64_t next_id();

    // The thread's cache of that heap, made if it has none. Null: no memory, or the thread
    // is about to end.
    static ThreadCache *find(Heap &heap) noexcept;

    // The heap ends: its caches are nobody's any more.
    static void forget(Heap &heap) noexcept;

    // In the block that is reached without a call: the fast path's.
    static thread_local constinit Last last __attribute__((tls_model("initial-exec")));

private:
    struct Link;
    class Own;
};

} // namespace be::memory
