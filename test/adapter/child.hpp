// SPDX-License-Identifier: BSD-3-Clause
//
// This program once more, as a process of its own: it says things line by line, and is killed.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace be::test {

class Child {
public:
    explicit Child(std::vector<std::string> options)
    {
        std::string program = "/proc/self/exe";
        std::vector<char *> arguments{program.data()};
        int fds[2];
        posix_spawn_file_actions_t actions;

        for (std::string &option : options) {
            arguments.push_back(option.data());
        }
        arguments.push_back(nullptr);
        if (pipe2(fds, O_CLOEXEC) != 0) {
            throw std::runtime_error("no pipe for a child process");
        }
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
        const int error = posix_spawn(&m_pid, program.c_str(), &actions, nullptr,
                                      arguments.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        close(fds[1]);
        m_says = fds[0];
        if (error != 0) {
            close(m_says);
            throw std::runtime_error("no child process " + options.front() + ": error " +
                                     std::to_string(error));
        }
    }

    ~Child()
    {
        if (m_pid != 0) {
            end(SIGKILL);
        }
        close(m_says);
    }

    Child(const Child &)            = delete;
    Child &operator=(const Child &) = delete;

    // What it says next; empty: it has ended.
    std::string line()
    {
        std::string text;
        char c = 0;
        while ((read(m_says, &c, 1) == 1) && (c != '\n')) {
            text += c;
        }
        return text;
    }

    void signal(int number) const
    {
        kill(m_pid, number);
    }

    // True when it ended as it should.
    bool end(int number)
    {
        int status = 0;
        signal(number);
        waitpid(std::exchange(m_pid, 0), &status, 0);
        return (number == SIGKILL) || (WIFEXITED(status) && (WEXITSTATUS(status) == 0));
    }

private:
    pid_t m_pid = 0;
    int m_says  = -1;
};

} // namespace be::test
