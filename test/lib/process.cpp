// SPDX-License-Identifier: BSD-3-Clause
#include "process.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace be::test {

Process::Process(const std::function<int()> &body)
{
    const pid_t parent = ::getpid();
    std::fflush(nullptr);
    m_pid = ::fork();
    if (m_pid < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (m_pid == 0) {
        int status = 99;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() == parent) {
            try {
                status = body();
            } catch (const std::exception &error) {
                std::fprintf(stderr, "process %d: %s\n", ::getpid(), error.what());
            }
        }
        std::fflush(nullptr);
        std::_Exit(status);
    }
    m_pidfd = static_cast<int>(::syscall(SYS_pidfd_open, m_pid, 0));
    if (m_pidfd < 0) {
        const int error = errno;
        ::kill(m_pid, SIGKILL);
        throw std::system_error(error, std::generic_category(), "pidfd_open");
    }
}

Process::~Process()
{
    kill();
    ::close(m_pidfd);
}

void Process::signal(int number) const
{
    if (!m_status) {
        ::kill(m_pid, number);
    }
}

std::optional<int> Process::wait(double seconds)
{
    if (!m_status) {
        pollfd entry{m_pidfd, POLLIN, 0};
        int status = 0;
        ::poll(&entry, 1, static_cast<int>(seconds * 1000));
        if (::waitpid(m_pid, &status, WNOHANG) == m_pid) {
            m_status = status;
        }
    }
    return m_status;
}

void Process::wait_any(const Process &one, const Process &other, double seconds)
{
    pollfd entries[2] = {{one.m_pidfd, POLLIN, 0}, {other.m_pidfd, POLLIN, 0}};
    ::poll(entries, 2, static_cast<int>(seconds * 1000));
}

void Process::kill()
{
    if (!m_status) {
        int status = 0;
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, &status, 0);
        m_status = status;
    }
}

std::string describe_status(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        const int number = WTERMSIG(wait_status);
        return "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
    }
    return "exit status " + std::to_string(WEXITSTATUS(wait_status));
}

namespace {

/* Rank 0 charges what it caught to the open case; rank 1 tells it over its exit status. */
int guarded(Side side, const std::function<void(Side &)> &body)
{
    try {
        body(side);
        return 0;
    } catch (const std::exception &error) {
        if (side.rank == 0 && side.report.open()) {
            side.report.fail(error.what());
        } else {
            std::fprintf(stderr, "rank %d: %s\n", side.rank, error.what());
        }
        return 1;
    }
}

/* Status 0, or the signal that belongs to the case. */
bool ended_well(int status, int wanted_signal)
{
    return (wanted_signal != 0) ?
                   WIFSIGNALED(status) && WTERMSIG(status) == wanted_signal :
                   status == 0;
}

} // namespace

bool run_pair(Report &report, const std::string &name, const PairOptions &options,
              const std::function<void(Side &)> &body)
{
    auto [end0, end1] = Channel::pair();
    report.begin(name);
    Process first([&, &mine = end0, &other = end1] {
        const Channel dropped(std::move(other));
        return guarded({0, mine, report}, body);
    });
    Process second([&, &mine = end1, &other = end0] {
        const Channel dropped(std::move(other));
        return guarded({1, mine, report}, body);
    });
    {
        const Channel dropped0(std::move(end0)), dropped1(std::move(end1));
    }

    /* When one ends badly, the other need not wait for it much longer; without rank 0 the other end is
     * closed, so rank 1 ends soon. */
    Process::wait_any(first, second, options.seconds);
    const auto early   = second.wait(0);
    const bool is_bad  = early && !ended_well(*early, options.rank1_dies);
    const auto status0 = first.wait(is_bad ? 5 : options.seconds);
    const auto status1 = second.wait(status0 ? 20 : 0);
    std::string trouble;
    if (!status0 || !status1) {
        trouble = std::string(status0 ? "rank 1" : "rank 0") + " does not end";
        if (is_bad) {
            trouble += ", rank 1: " + describe_status(*early);
        }
    } else if (!ended_well(*status0, 0) || !ended_well(*status1, options.rank1_dies)) {
        trouble = "rank 0: " + describe_status(*status0) +
                  ", rank 1: " + describe_status(*status1);
    }
    if (report.open()) {
        if (trouble.empty()) {
            report.pass();
        } else {
            report.fail(trouble);
        }
    } else if (!trouble.empty() && (!status0 || *status0 == 0 || WIFSIGNALED(*status0))) {
        /* Behind the last case, at the program's end for example, and not told by rank 0. */
        report.begin(name + "/end");
        report.fail(trouble);
    }
    return trouble.empty();
}

} // namespace be::test
