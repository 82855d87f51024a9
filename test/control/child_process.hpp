// SPDX-License-Identifier: BSD-3-Clause
//
// A forked process for tests, connected to its parent by two pipes.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace be::control::test {

// One end of the pair of pipes. Values travel as their bytes.
class Pipe {
public:
    Pipe(int read_fd, int write_fd) : m_read_fd(read_fd), m_write_fd(write_fd)
    {
    }

    template<class T>
    void send(const T &value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        write_bytes(&value, sizeof(value));
    }

    // Throws at the end of the pipe, or when nothing comes in time.
    template<class T>
    T receive()
    {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        read_bytes(&value, sizeof(value));
        return value;
    }

    // True when nothing has come, nor the end, when the time has passed.
    bool receive_nothing_for(std::chrono::milliseconds time);

    // Blocks until the other process closes its end (or ends).
    void wait_for_end();

private:
    void write_bytes(const void *data, std::size_t size);
    void read_bytes(void *data, std::size_t size);

    int m_read_fd;
    int m_write_fd;
};

class ChildProcess {
public:
    // Forks. The child runs `body` and exits with 0, or with 1 when it throws
    // (after it has written why to stderr); it never returns from here.
    explicit ChildProcess(const std::function<void(Pipe &)> &body);

    // Kills it, if it still runs.
    ~ChildProcess();
    ChildProcess(const ChildProcess &)            = delete;
    ChildProcess &operator=(const ChildProcess &) = delete;

    Pipe &pipe()
    {
        return *m_pipe;
    }

    void signal(int number);

    // Lets the child see the end of its pipe, and returns its wait status.
    int wait();

private:
    pid_t m_pid;
    int m_read_fd  = -1;
    int m_write_fd = -1;
    std::optional<Pipe> m_pipe;
};

} // namespace be::control::test
