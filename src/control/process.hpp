// SPDX-License-Identifier: BSD-3-Clause
//
// What the control channel keeps once per process, and what fork() does to it.
//
// One mutex, the process mutex, guards all such state. It is held across
// fork(), so that a child finds that state consistent; sections under it
// are short and call nothing that could fork or take another lock. (The library
// is never unloaded: the fork handlers stay valid.)
//
// Sockets are opened and closed under the mutex and kept in a list, and
// the child closes its copies at once. Otherwise a peer would not see the end of
// the parent's connections while a child lives on.

#pragma once

#include <mutex>

namespace be::control {

// Installs the fork handlers. Idempotent, any thread.
void initialize_process();

std::mutex &process_mutex() noexcept;

// How many forks lie between the first process that called
// initialize_process() and this one.
unsigned process_generation() noexcept;

// Adds an open descriptor to the list that a child closes. The process mutex is
// held by the caller since before the descriptor was opened.
void track_descriptor(int fd);

// Takes it off the list again; the caller closes it before it lets go of the mutex.
void untrack_descriptor(int fd) noexcept;

// `open` returns a new descriptor, or -1 with errno, which is kept.
template<class Open>
int open_tracked(Open &&open)
{
    std::lock_guard lock(process_mutex());
    int fd = open();
    if (fd >= 0) {
        track_descriptor(fd);
    }
    return fd;
}

// `close` closes `fd`.
template<class Close>
void close_tracked(int fd, Close &&close) noexcept
{
    std::lock_guard lock(process_mutex());
    untrack_descriptor(fd);
    close();
}

} // namespace be::control
