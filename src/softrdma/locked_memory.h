// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes in registered pages. A NIC's are pinned, and the system limits them (RLIMIT_MEMLOCK); here SOFTRDMA_LOCKED does.
// Like the kernel, it counts a page as often as it is registered.
#pragma once

#include <atomic>
#include <cstddef>

namespace softrdma {

class locked_memory {
public:
    // False: that would be more than `limit`; 0 is none.
    bool take(size_t bytes, size_t limit)
    {
        size_t before = m_bytes.load(std::memory_order_relaxed);
        do {
            if ((limit != 0) && ((bytes > limit) || (before > limit - bytes))) {
                return false;
            }
        } while (!m_bytes.compare_exchange_weak(before, before + bytes,
                                                std::memory_order_relaxed));
        return true;
    }

    void give(size_t bytes)
    {
        m_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    }

private:
    std::atomic<size_t> m_bytes{0};
};

} // namespace softrdma
