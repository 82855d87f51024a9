// SPDX-License-Identifier: BSD-3-Clause
//
// Which cache of which heap belongs to the calling thread; what happens when either ends.
#pragma once

#include "memory/heap.hpp"

#include <cstdint>

namespace be::memory {

class HeapThreads {
public:
    // A multiple of Heap::max_owners that no heap has had. Before the heap makes its
    // mutexes.
    static uint64_t next_key();

    // The thread's cache of that heap, made if it has none. Null: no memory, or the thread
    // is about to end.
    static ThreadCache *find(Heap &heap) noexcept;

    // The heap ends: its caches are nobody's any more.
    static void forget(Heap &heap) noexcept;

private:
    struct Link;
    class Own;
};

} // namespace be::memory
