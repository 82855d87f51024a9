// SPDX-License-Identifier: BSD-3-Clause

#include "child_process.hpp"

#include "recorder.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace be::control::test {

namespace {

int check(int result, const char *what)
{
    if (result < 0) {
        throw std::system_error(errno, std::system_category(), what);
    }
    return result;
}

} // namespace

void Pipe::write_bytes(const void *data, std::size_t size)
{
    // Smaller than PIPE_BUF: written as a whole.
    check(static_cast<int>(::write(m_write_fd, data, size)), "write to pipe");
}

void Pipe::read_bytes(void *data, std::size_t size)
{
    auto *at = static_cast<char *>(data);

    while (size > 0) {
        if (receive_nothing_for(patience)) {
            throw std::runtime_error("nothing comes through the pipe");
        }
        auto count = check(static_cast<int>(::read(m_read_fd, at, size)), "read");
        if (count == 0) {
            throw std::runtime_error("the pipe has ended");
        }
        at += count;
        size -= static_cast<std::size_t>(count);
    }
}

bool Pipe::receive_nothing_for(std::chrono::milliseconds time)
{
    pollfd poll_fd{m_read_fd, POLLIN, 0};
    return check(::poll(&poll_fd, 1, static_cast<int>(time.count())), "poll") == 0;
}

void Pipe::wait_for_end()
{
    char byte;
    while (::read(m_read_fd, &byte, 1) > 0) {
    }
}

ChildProcess::ChildProcess(const std::function<void(Pipe &)> &body)
{
    int down[2], up[2];

    check(::pipe(down), "pipe");
    check(::pipe(up), "pipe");
    std::fflush(nullptr);
    m_pid = check(::fork(), "fork");
    if (m_pid == 0) {
        ::close(down[1]);
        ::close(up[0]);
        int status = 1;
        try {
            Pipe pipe(down[0], up[1]);
            body(pipe);
            status = 0;
        } catch (const std::exception &error) {
            std::fprintf(stderr, "child process: %s\n", error.what());
        }
        // Not exit(): the test framework belongs to the parent.
        ::_exit(status);
    }

    ::close(down[0]);
    ::close(up[1]);
    m_read_fd  = up[0];
    m_write_fd = down[1];
    m_pipe.emplace(m_read_fd, m_write_fd);
}

ChildProcess::~ChildProcess()
{
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        wait();
    }
}

void ChildProcess::signal(int number)
{
    check(::kill(m_pid, number), "kill");
}

int ChildProcess::wait()
{
    int status = -1;

    m_pipe.reset();
    ::close(m_read_fd);
    ::close(m_write_fd);
    check(::waitpid(m_pid, &status, 0), "waitpid");
    m_pid = -1;
    return status;
}

} // namespace be::control::test
