// SPDX-License-Identifier: BSD-3-Clause
//
// The tests' own domain through the eyes of the program `softrdma`.
#pragma once

#include "softrdma/cli/domain.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <sys/types.h>

namespace softtest {

// A precondition of tests that need more than verbs.
boost::test_tools::assertion_result on_software_device(boost::unit_test::test_unit_id);

softrdma::cli::domain &test_domain();

// Counters of the port that this process, or a servant, uses, and what they grew by since this was made.
class port_watch {
public:
    explicit port_watch(pid_t pid);

    uint64_t value(const std::string &name);
    uint64_t change(const std::string &name);
    const char *state() const;

    // What the fabric does to the port, "rate=10G delay=1us" or "off".
    void shape(const std::string &words);

    // Has the fault happen to that process. What it hit.
    int fault(const std::string &words);

private:
    pid_t m_pid;
    uint32_t m_device;
    softrdma::port_shared *m_port;
    std::map<std::string, uint64_t> m_before;
};

// The sum of the servants' device over all processes that ever were there.
uint64_t device_total(const std::string &name);

} // namespace softtest
