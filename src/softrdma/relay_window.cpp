// SPDX-License-Identifier: BSD-3-Clause
#include "relay_window.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace softrdma {
namespace {

constexpr uint64_t tail_bytes = 8;

// Copies between the file at `offset` and a list.
int copy(int file, uint64_t offset, memory_list list, bool into_file)
{
    auto call      = into_file ? pwritev : preadv;
    unsigned first = 0;
    while (first != list.count) {
        ssize_t done = call(file, list.piece + first,
                            static_cast<int>(list.count - first),
                            static_cast<off_t>(offset));
        if (done <= 0) {
            return ((done < 0) && (errno != EFAULT)) ? EIO : EFAULT;
        }
        offset += static_cast<uint64_t>(done);
        for (size_t left = static_cast<size_t>(done); left != 0;) {
            iovec &next   = list.piece[first];
            size_t step   = std::min(left, next.iov_len);
            next.iov_base = static_cast<char *>(next.iov_base) + step;
            next.iov_len -= step;
            left -= step;
            first += next.iov_len == 0;
        }
    }
    return 0;
}

// `bytes` from `position` of the data on.
int copy_piece(const relay_window &window, const memory_list &data, uint64_t position,
               uint64_t bytes, bool into_window)
{
    while (bytes != 0) {
        uint64_t place = position % limits::relay_window;
        uint64_t step  = std::min(bytes, limits::relay_window - place);
        int failure    = copy(window.file, window.entry.window + place,
                              part_of(data, position, step), into_window);
        if (failure != 0) {
            return failure;
        }
        position += step;
        bytes -= step;
    }
    return 0;
}

} // namespace

int fill(const relay_window &window, const memory_list &data, bool &moved)
{
    relay_shared &entry = window.entry;
    uint64_t filled     = entry.filled.load(std::memory_order_relaxed);
    uint64_t waiting    = filled - entry.drained.load(std::memory_order_acquire);
    moved               = false;
    if ((waiting > limits::relay_window) || (filled > data.length)) {
        return EIO;
    }
    uint64_t left  = data.length - filled;
    uint64_t bytes = std::min(
            {left, limits::relay_window - waiting, limits::relay_piece});
    if ((bytes < left) && (left - bytes < tail_bytes)) {
        bytes -= std::min(bytes, tail_bytes);
    }
    if (bytes == 0) {
        return 0;
    }
    int failure = copy_piece(window, data, filled, bytes, true);
    if (failure == 0) {
        moved = true;
        entry.filled.store(filled + bytes, std::memory_order_release);
    }
    return failure;
}

int drain(const relay_window &window, const memory_list &data, bool &moved)
{
    relay_shared &entry = window.entry;
    uint64_t drained    = entry.drained.load(std::memory_order_relaxed);
    uint64_t waiting    = entry.filled.load(std::memory_order_acquire) - drained;
    moved               = false;
    if ((waiting > limits::relay_window) || (drained + waiting > data.length)) {
        return EIO;
    }
    uint64_t left  = data.length - drained;
    uint64_t bytes = std::min(waiting, limits::relay_piece);
    // What is left of a piece that was cut here must not be the end of the data alone.
    if ((bytes < left) && (left - bytes < tail_bytes)) {
        bytes -= std::min(bytes, tail_bytes);
    }
    if (bytes == 0) {
        return 0;
    }
    uint64_t tail = ((bytes == left) && (bytes > tail_bytes)) ? tail_bytes : 0;
    int failure   = copy_piece(window, data, drained, bytes - tail, false);
    if ((failure == 0) && (tail != 0)) {
        failure = copy_piece(window, data, drained + bytes - tail, tail, false);
    }
    if (failure == 0) {
        moved = true;
        entry.drained.store(drained + bytes, std::memory_order_release);
    }
    return failure;
}

int read_word(const relay_window &window, const memory_list &word, uint64_t &value)
{
    uint64_t place = window.entry.window;
    int failure    = copy(window.file, place, word, true);
    if ((failure == 0) && (pread(window.file, &value, sizeof(value),
                                 static_cast<off_t>(place)) != sizeof(value))) {
        failure = EIO;
    }
    return failure;
}

int write_word(const relay_window &window, const memory_list &word, uint64_t value)
{
    uint64_t place = window.entry.window + sizeof(value);
    if (pwrite(window.file, &value, sizeof(value), static_cast<off_t>(place)) !=
        sizeof(value)) {
        return EIO;
    }
    return copy(window.file, place, word, false);
}

} // namespace softrdma
