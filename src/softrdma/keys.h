// SPDX-License-Identifier: BSD-3-Clause
//
// What a key opens: the checks of each access, on the entries in the segment of the memory's owner, by
// whoever executes.
//
// Thread rules: any thread; inside an execution_guard toward the owner.
#pragma once

#include "layout.h"

namespace softrdma {

// The address that belongs to `addr`, if rights and range allow it; 0 otherwise.
inline uint64_t
translate(const mr_shared &entry, uint32_t rights, uint64_t addr, uint64_t length)
{
    uint64_t offset = addr - entry.iova;
    bool allowed    = ((entry.access & rights) == rights) && (offset <= entry.length) &&
                   (length <= entry.length - offset);
    return allowed ? entry.addr + offset : 0;
}

// Whether the entry is valid under that key. Sequentially consistent: pairs with the announcement of the
// execution this belongs to, see guard.h.
inline bool has_key(const mr_shared &entry, uint32_t key)
{
    return (key != 0) && (entry.key.load(std::memory_order_seq_cst) == key);
}

// Both find the entry of `key` and check domain, rights and range. The address in the segment owner's memory
// that belongs to `addr`, or 0.

// For the owner's own requests: regions only.
inline uint64_t find_local_memory(segment_layout *where, uint32_t key, uint32_t pd,
                                  uint32_t rights, uint64_t addr, uint64_t length)
{
    const mr_shared &entry = where->mrs[(key >> 8) % limits::mrs];
    bool usable            = has_key(entry, key) && (entry.pd == pd) &&
                  (entry.kind == memory_kind::region);
    return usable ? translate(entry, rights, addr, length) : 0;
}

// For what a peer asks of the queue pair `qp_num`: windows, too.
inline uint64_t find_remote_memory(segment_layout *where, uint32_t key, uint32_t pd,
                                   uint32_t qp_num, uint32_t rights, uint64_t addr,
                                   uint64_t length)
{
    const mr_shared &entry = where->mrs[(key >> 8) % limits::mrs];
    bool usable            = has_key(entry, key) && (entry.pd == pd) &&
                  ((entry.kind != memory_kind::bound_window) || (entry.qp_num == qp_num));
    return usable ? translate(entry, rights, addr, length) : 0;
}

} // namespace softrdma
