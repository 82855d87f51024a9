// SPDX-License-Identifier: BSD-3-Clause
#include "memory/heap_threads.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace be::memory {
namespace {

// Held while threads or heaps end. Never destroyed.
ForkMutex &mutex()
{
    static ForkMutex *const mutex = new ForkMutex;
    return *mutex;
}

// The thread's list of caches is gone.
thread_local constinit bool ended = false;

} // namespace

struct HeapThreads::Link {
    Link(Heap &its_heap, size_t limit) :
        key(its_heap.m_key), heap(&its_heap), cache(limit)
    {
    }

    const uint64_t key;
    Heap *heap; // null: it has ended; with the mutex held
    ThreadCache cache;
};

class HeapThreads::Own {
public:
    ~Own()
    {
        Heap::last = {};
        ended      = true;
        const std::lock_guard<ForkMutex> guard(mutex());
        for (const auto &link : m_links) {
            if (link->heap != nullptr) {
                retire(*link);
            }
        }
    }

    ThreadCache *find(Heap &heap)
    {
        for (const auto &link : m_links) {
            if (link->key == heap.m_key) {
                return &link->cache;
            }
        }
        return add(heap);
    }

    // With the mutex held, of any thread: the heap finds its links here.
    static std::vector<Link *> &all()
    {
        static auto *const links = new std::vector<Link *>;
        return *links;
    }

private:
    ThreadCache *add(Heap &heap)
    {
        const std::lock_guard<ForkMutex> guard(mutex());
        std::erase_if(m_links, [](const auto &link) { return link->heap == nullptr; });
        m_links.reserve(m_links.size() + 1);
        all().reserve(all().size() + 1);
        auto link = std::make_unique<Link>(heap, heap.m_config.thread_cache);
        {
            const std::lock_guard<ForkMutex> heap_guard(heap.m_mutex);
            heap.m_caches.push_back(&link->cache);
        }
        all().push_back(link.get());
        m_links.push_back(std::move(link));
        return &m_links.back()->cache;
    }

    static void retire(Link &link)
    {
        Heap &heap = *link.heap;
        heap.flush(link.cache);
        std::erase(all(), &link);
        const std::lock_guard<ForkMutex> guard(heap.m_mutex);
        heap.m_counters.add(link.cache.counters);
        std::erase(heap.m_caches, &link.cache);
    }

    std::vector<std::unique_ptr<Link>> m_links;
};

uint64_t HeapThreads::next_key()
{
    static uint64_t last = 0;
    const std::lock_guard<ForkMutex> guard(mutex());
    return last += Heap::max_owners;
}

ThreadCache *HeapThreads::find(Heap &heap) noexcept
{
    if (ended) {
        return nullptr;
    }
    static thread_local Own own;
    try {
        return own.find(heap);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void HeapThreads::forget(Heap &heap) noexcept
{
    const std::lock_guard<ForkMutex> guard(mutex());
    std::erase_if(Own::all(), [&heap](Link *link) {
        const bool its = link->heap == &heap;
        if (its) {
            link->heap = nullptr;
        }
        return its;
    });
}

} // namespace be::memory
