// SPDX-License-Identifier: BSD-3-Clause
//
// A process that is stepped through what it does, instruction by instruction, and killed; and what the
// software device of this process has in its memory.
#pragma once

#include "wire.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sys/types.h>
#include <vector>

namespace softtest {

class stepped_process {
public:
    // A child that runs `body` with its end of a socket. It has a device of its own.
    explicit stepped_process(const std::function<void(int socket)> &body);
    ~stepped_process();
    stepped_process(const stepped_process &)            = delete;
    stepped_process &operator=(const stepped_process &) = delete;

    // Whether a process may trace its children here.
    static bool allowed();

    // Called by the child: the parent steps it from here on, up to the next call.
    static void halt();

    // False when it ended instead.
    bool wait_until_halted();

    // One instruction. False when it called halt().
    bool step();

    // It is dying when this returns, and gone after reap().
    void kill();
    void reap();

    int socket() const
    {
        return m_socket;
    }

private:
    pid_t m_pid  = -1;
    int m_socket = -1;
};

// A thread of another process, by its name, that does not run as long as this exists.
class held_thread {
public:
    held_thread(pid_t pid, const char *name);
    ~held_thread();
    held_thread(const held_thread &)            = delete;
    held_thread &operator=(const held_thread &) = delete;

private:
    pid_t m_thread = -1;
};

// The device memory of this process, as far as it is in use when this is made.
class device_memory {
public:
    device_memory();
    ~device_memory();
    device_memory(const device_memory &)            = delete;
    device_memory &operator=(const device_memory &) = delete;

    uint64_t fingerprint() const;

private:
    struct part {
        size_t offset;
        size_t bytes;
    };

    const char *m_base = nullptr;
    size_t m_bytes     = 0;
    std::vector<part> m_parts; // that are not holes
};

} // namespace softtest
