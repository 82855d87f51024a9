// SPDX-License-Identifier: BSD-3-Clause
//
// Where the parts of a receive queue lie in its owner's segment.
#pragma once

#include "layout.h"

#include <bit>

namespace softrdma {

// The chunk a slot is in; `index` becomes its place there.
inline uint32_t chunk_of(const rq_shared &queue, uint32_t &index)
{
    auto chunk = static_cast<uint32_t>(std::bit_width(index >> queue.first_chunk));
    if (chunk != 0) {
        index -= 1u << (queue.first_chunk + chunk - 1);
    }
    return chunk;
}

inline receive_slot *
slot_at(segment_layout *where, const rq_shared &queue, uint32_t index)
{
    uint64_t chunk = queue.slots[chunk_of(queue, index)];
    return at_offset<receive_slot>(where, chunk + uint64_t(index) * queue.slot_bytes);
}

inline uint32_t *fifo_of(segment_layout *where, const rq_shared &queue)
{
    return at_offset<uint32_t>(where, queue.fifo);
}

} // namespace softrdma
