// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/process.hpp"

#include <chrono>
#include <csignal>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace be::tools {

namespace {

std::vector<char *> pointers(std::vector<std::string> &texts)
{
    std::vector<char *> all;
    for (std::string &text : texts) {
        all.push_back(text.data());
    }
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> merged_environment(const std::vector<std::string> &added)
{
    std::vector<std::string> all = added;
    for (char **at = environ; *at != nullptr; at++) {
        const std::string entry = *at;
        const auto name         = entry.substr(0, entry.find('=') + 1);
        bool replaced           = false;
        for (const std::string &other : added) {
            replaced = replaced || other.starts_with(name);
        }
        if (!replaced) {
            all.push_back(entry);
        }
    }
    return all;
}

void write_to(int fd, const std::string &line)
{
    const std::string text = line + "\n";
    if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::system_error(errno, std::generic_category(),
                                "a process has ended early");
    }
}

} // namespace

ChildProcess::ChildProcess(const std::vector<std::string> &command,
                           const std::vector<std::string> &environment)
{
    int to[2];
    int from[2];
    if ((pipe2(to, O_CLOEXEC) != 0) || (pipe2(from, O_CLOEXEC) != 0)) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    auto arguments  = command;
    auto variables  = merged_environment(environment);
    const int error = posix_spawnp(&m_pid, command[0].c_str(), &actions, nullptr,
                                   pointers(arguments).data(),
                                   pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    m_in  = to[1];
    m_out = from[0];
    if (error != 0) {
        m_pid = 0;
        close(m_in);
        close(m_out);
        throw std::system_error(error, std::generic_category(),
                                "cannot run '" + command[0] + "'");
    }
}

ChildProcess::~ChildProcess()
{
    close(m_in); // asks it to end
    close(m_out);
    if (m_pid != 0) {
        kill(m_pid, SIGKILL);
        waitpid(m_pid, nullptr, 0);
    }
}

void ChildProcess::write_line(const std::string &line)
{
    write_to(m_in, line);
}

std::string ChildProcess::read_line(double seconds)
{
    using Clock     = std::chrono::steady_clock;
    const auto late = Clock::now() + std::chrono::duration<double>(seconds);

    for (;;) {
        const size_t end = m_pending.find('\n');
        if (end != std::string::npos) {
            const std::string line = m_pending.substr(0, end);
            m_pending.erase(0, end + 1);
            return line;
        }
        const std::chrono::duration<double, std::milli> left = late - Clock::now();
        pollfd fd{m_out, POLLIN, 0};
        if ((left.count() <= 0) ||
            (poll(&fd, 1, static_cast<int>(left.count()) + 1) == 0)) {
            throw std::runtime_error("a process says nothing for " +
                                     std::to_string(seconds) + " s");
        }
        char buffer[4096];
        const ssize_t count = read(m_out, buffer, sizeof(buffer));
        if (count <= 0) {
            throw std::runtime_error("a process has ended early; its messages are above");
        }
        m_pending.append(buffer, static_cast<size_t>(count));
    }
}

ParentProcess::ParentProcess() : m_out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0))
{
    if ((m_out < 0) || (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)) {
        throw std::system_error(errno, std::generic_category(), "standard output");
    }
}

void ParentProcess::write_line(const std::string &line)
{
    write_to(m_out, line);
}

std::string ParentProcess::read_line()
{
    std::string line;
    std::getline(std::cin, line);
    return line;
}

} // namespace be::tools
