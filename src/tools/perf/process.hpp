// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace be::tools {

/** A child that is talked to by lines; killed and waited for by its destructor. */
class ChildProcess {
public:
    /**
     * @param environment  NAME=VALUE, on top of this process's own.
     *
     * @throws std::system_error.
     */
    ChildProcess(const std::vector<std::string> &command,
                 const std::vector<std::string> &environment);
    ~ChildProcess();
    ChildProcess(const ChildProcess &)            = delete;
    ChildProcess &operator=(const ChildProcess &) = delete;

    void write_line(const std::string &line);

    /** @throws std::runtime_error when none comes within `seconds`, or the child has ended. */
    std::string read_line(double seconds);

private:
    pid_t m_pid = 0;
    int m_in    = -1;
    int m_out   = -1;
    std::string m_pending;
};

/**
 * A child's end of that. Its standard output is its standard error from then on: what libraries print there, as UCX
 * its warnings, is for the user.
 */
class ParentProcess {
public:
    /** @throws std::system_error. Before anything else is printed. */
    ParentProcess();

    void write_line(const std::string &line);

    /** Waits for it; an empty one when the parent is gone. */
    std::string read_line();

private:
    int m_out = -1;
};

} // namespace be::tools
