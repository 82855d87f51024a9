// SPDX-License-Identifier: BSD-3-Clause
/*
 * Forked processes that never outlive their owner: killed by its destructor, and by the kernel
 * when the parent dies. Fork happens before UCX is initialised in any of them.
 */
#ifndef BE_TEST_LIB_PROCESS_HPP
#define BE_TEST_LIB_PROCESS_HPP

#include "channel.hpp"
#include "report.hpp"

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>

namespace be::test {

class Process {
public:
    /* Runs `body` in a child, which exits with what it returns; an exception there is printed to
     * stderr and gives status 99. */
    explicit Process(const std::function<int()> &body);
    ~Process();
    Process(const Process &)            = delete;
    Process &operator=(const Process &) = delete;

    pid_t pid() const
    {
        return m_pid;
    }
    void signal(int number) const;
    /* The wait status, or nothing after `seconds`. */
    std::optional<int> wait(double seconds);
    /* Returns when one of the two has ended, or after `seconds`. */
    static void wait_any(const Process &one, const Process &other, double seconds);
    void kill();

private:
    pid_t m_pid;
    int m_pidfd;
    std::optional<int> m_status;
};

/* "exit status 3", "signal 9 (Killed)". */
std::string describe_status(int wait_status);

/* One of two processes of a case. */
struct Side {
    int rank; /* 0 reports */
    Channel &channel;
    Report &report;
};

struct PairOptions {
    double seconds = 120; /* that both may take together */
    int rank1_dies = 0; /* signal that ends rank 1 as part of the case */
};

/*
 * Runs `body` as ranks 0 and 1. What it throws fails the open case. So do a signal, an exit status
 * other than 0 and no end in time; then both are killed. Returns true when all was well.
 */
bool run_pair(Report &report, const std::string &name, const PairOptions &options,
              const std::function<void(Side &)> &body);

} // namespace be::test

#endif
