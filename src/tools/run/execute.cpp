// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/execute.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace be::tools {

void execute(const Plan &plan)
{
    std::vector<char *> argv;

    for (const auto &[name, value] : plan.variables) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    for (const std::string &word : plan.command) {
        argv.push_back(const_cast<char *>(word.c_str()));
    }
    argv.push_back(nullptr);

    execvp(argv[0], argv.data());
    const int error = errno;
    std::cerr << fmt::format("be_run: cannot run '{}': {}\n", argv[0],
                             std::strerror(error))
              << std::flush;
    _exit((error == ENOENT) ? exit_not_found : exit_cannot_run);
}

} // namespace be::tools
