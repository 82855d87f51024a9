// SPDX-License-Identifier: BSD-3-Clause
//
// Moving bytes between this process's memory and a peer's: by copying inside one process, by one system
// call between two (cross memory attach).
//
// Order: the last eight bytes of a transfer toward a peer are written after all others, since programs
// poll on the last byte of an RDMA write. An aligned 8-byte transfer is one store.
#pragma once

#include "sizes.h"

#include <cstdint>
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

// Copies the local pieces, one behind the other, to `to`.
void gather(const memory_list &from, char *to);

// Copies `bytes` from `from` to the local pieces in turn.
void scatter(const char *from, const memory_list &to, uint64_t bytes);

} // namespace softrdma
