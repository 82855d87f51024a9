// SPDX-License-Identifier: BSD-3-Clause
//
// Moving bytes between this process's memory and a peer's: by copying inside one process, by one system
// call between two (cross memory attach).
//
// Order: the last eight bytes of a transfer toward a peer are written after all others, since programs
// poll on the last byte of an RDMA write. An aligned 8-byte transfer is one store.
#pragma once

#include "sizes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>

namespace softrdma {

class peer;

// A list of memory pieces, in the terms of the process they belong to.
struct memory_list {
    iovec piece[limits::sges + 2];
    unsigned count  = 0;
    uint64_t length = 0;

    void add(uint64_t addr, uint64_t bytes)
    {
        if (bytes != 0) {
            piece[count++] = {reinterpret_cast<void *>(addr), bytes};
            length += bytes;
        }
    }
};

// `bytes` of a list behind the first `skip`.
memory_list part_of(const memory_list &whole, uint64_t skip, uint64_t bytes);

enum class direction {
    to_peer,
    from_peer
};

// Moves `bytes`, at most what either list holds. 0 or an errno: ESRCH the peer is gone, EFAULT some
// memory is not there, EPERM the system forbids it: then the peer is asked to do it (relay.h).
int transfer(peer &other, const memory_list &local, const memory_list &remote,
             uint64_t bytes, direction way);

// memcpy() that makes no call for a few bytes, of which most messages are.
inline void copy_bytes(char *to, const char *from, uint64_t bytes)
{
    // Both ends, which may overlap.
    const auto copy_ends = [&]<typename T>(T head, T tail) {
        memcpy(&head, from, sizeof(T));
        memcpy(&tail, from + bytes - sizeof(T), sizeof(T));
        memcpy(to, &head, sizeof(T));
        memcpy(to + bytes - sizeof(T), &tail, sizeof(T));
    };
    if ((bytes < sizeof(uint32_t)) || (bytes > 2 * sizeof(uint64_t))) {
        memcpy(to, from, bytes);
    } else if (bytes < sizeof(uint64_t)) {
        copy_ends(uint32_t{}, uint32_t{});
    } else {
        copy_ends(uint64_t{}, uint64_t{});
    }
}

// Copies the local pieces, one behind the other, to `to`.
inline void gather(const memory_list &from, char *to)
{
    for (unsigned i = 0; i < from.count; ++i) {
        const iovec &piece = from.piece[i];
        copy_bytes(to, static_cast<const char *>(piece.iov_base), piece.iov_len);
        to += piece.iov_len;
    }
}

// Copies `bytes` from `from` to the local pieces in turn.
inline void scatter(const char *from, const memory_list &to, uint64_t bytes)
{
    for (unsigned i = 0; (i < to.count) && (bytes != 0); ++i) {
        uint64_t step = std::min<uint64_t>(to.piece[i].iov_len, bytes);
        copy_bytes(static_cast<char *>(to.piece[i].iov_base), from, step);
        from += step;
        bytes -= step;
    }
}

} // namespace softrdma
