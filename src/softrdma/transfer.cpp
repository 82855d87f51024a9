// SPDX-License-Identifier: BSD-3-Clause
#include "transfer.h"

#include "cma.h"
#include "peer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softrdma {
namespace {

constexpr size_t tail_bytes = 8;

bool is_aligned(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % sizeof(uint64_t) == 0;
}

// Stores the last eight bytes after all stores before: at once if they are a word, else the last byte last.
void store_tail(char *to, const char *from)
{
    if (is_aligned(to)) {
        uint64_t word;
        memcpy(&word, from, sizeof(word));
        __atomic_store_n(reinterpret_cast<uint64_t *>(to), word, __ATOMIC_RELEASE);
        return;
    }
    memcpy(to, from, tail_bytes - 1);
    __atomic_store_n(to + tail_bytes - 1, from[tail_bytes - 1], __ATOMIC_RELEASE);
}

// Copies one contiguous piece so that a reader that polls sees its end last.
void copy_in_order(char *to, const char *from, uint64_t bytes)
{
    if (bytes < tail_bytes) {
        memmove(to, from, bytes);
        return;
    }
    // Overlapping buffers are the application's fault, but must not be made worse.
    char last[tail_bytes];
    memcpy(last, from + bytes - tail_bytes, tail_bytes);
    memmove(to, from, bytes - tail_bytes);
    store_tail(to + bytes - tail_bytes, last);
}

void copy_within(const memory_list &from, const memory_list &to, uint64_t bytes)
{
    unsigned source = 0, target = 0;
    uint64_t source_used = 0, target_used = 0;
    while (bytes != 0) {
        const iovec &a = from.piece[source];
        const iovec &b = to.piece[target];
        uint64_t step  = std::min({uint64_t(a.iov_len) - source_used,
                                   uint64_t(b.iov_len) - target_used, bytes});
        copy_in_order(static_cast<char *>(b.iov_base) + target_used,
                      static_cast<const char *>(a.iov_base) + source_used, step);
        bytes -= step;
        source_used += step;
        target_used += step;
        if (source_used == a.iov_len) {
            ++source;
            source_used = 0;
        }
        if (target_used == b.iov_len) {
            ++target;
            target_used = 0;
        }
    }
}

// The first `bytes` of a list; the last eight of them apart when `split`.
struct clipped_list {
    iovec piece[limits::sges + 3];
    unsigned count = 0;
    unsigned first = 0;

    clipped_list(const memory_list &from, uint64_t bytes, bool split)
    {
        for (unsigned i = 0; (i < from.count) && (bytes != 0); ++i) {
            piece[count]         = from.piece[i];
            piece[count].iov_len = std::min<uint64_t>(piece[count].iov_len, bytes);
            bytes -= piece[count++].iov_len;
        }
        iovec &last = piece[count - 1];
        if (split && (last.iov_len > tail_bytes)) {
            last.iov_len -= tail_bytes;
            piece[count++] = {static_cast<char *>(last.iov_base) + last.iov_len,
                              tail_bytes};
        }
    }

    void advance(size_t bytes)
    {
        while (bytes != 0) {
            iovec &next   = piece[first];
            size_t step   = std::min(bytes, next.iov_len);
            next.iov_base = static_cast<char *>(next.iov_base) + step;
            next.iov_len -= step;
            bytes -= step;
            if (next.iov_len == 0) {
                ++first;
            }
        }
    }
};

// Whether the peer still has its memory. A process that dies loses it before it is gone.
bool has_memory(const peer &other)
{
    uint64_t word;
    return try_access(other.pid, other.segment->address, &word, sizeof(word)) == 0;
}

int copy_between(peer &other, const memory_list &local, const memory_list &remote,
                 uint64_t bytes, direction way)
{
    clipped_list mine(local, bytes, false);
    clipped_list theirs(remote, bytes, way == direction::to_peer);
    while (bytes != 0) {
        auto call    = (way == direction::to_peer) ? process_vm_writev : process_vm_readv;
        ssize_t done = call(other.pid, mine.piece + mine.first, mine.count - mine.first,
                            theirs.piece + theirs.first, theirs.count - theirs.first, 0);
        if (done <= 0) {
            int failure = (done == 0) ? EFAULT : errno;
            if ((failure == EFAULT) && !has_memory(other)) {
                return ESRCH;
            }
            if (is_refusal(failure)) {
                other.refuse_access(failure);
                return EPERM;
            }
            return failure;
        }
        bytes -= static_cast<uint64_t>(done);
        mine.advance(static_cast<size_t>(done));
        theirs.advance(static_cast<size_t>(done));
    }
    return 0;
}

} // namespace

int transfer(peer &other, const memory_list &local, const memory_list &remote,
             uint64_t bytes, direction way)
{
    bytes = std::min({bytes, local.length, remote.length});
    if (bytes == 0) {
        return 0;
    }
    if (!other.own) {
        if (other.out_of_reach()) {
            return EPERM;
        }
        return copy_between(other, local, remote, bytes, way);
    }
    if (way == direction::to_peer) {
        copy_within(local, remote, bytes);
    } else {
        copy_within(remote, local, bytes);
    }
    return 0;
}

memory_list part_of(const memory_list &whole, uint64_t skip, uint64_t bytes)
{
    memory_list result;
    for (unsigned i = 0; (i < whole.count) && (bytes != 0); ++i) {
        uint64_t length = whole.piece[i].iov_len;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        uint64_t step = std::min(length - skip, bytes);
        result.add(reinterpret_cast<uint64_t>(whole.piece[i].iov_base) + skip, step);
        bytes -= step;
        skip = 0;
    }
    return result;
}

} // namespace softrdma
