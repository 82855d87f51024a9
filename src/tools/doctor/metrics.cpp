// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/metrics.hpp"

#include "metrics/api.hpp"
#include "metrics/where.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <unistd.h>

namespace be::tools {

namespace {

std::string problem_with(const std::string &where, const std::string &modules)
{
    const std::string library = modules + "/" + metrics::library;
    metrics::Where parsed;
    try {
        parsed = metrics::parse_where(where);
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    if (access(library.c_str(), R_OK) != 0) {
        return library + " is missing: this build has no prometheus-cpp (Debian package "
                         "prometheus-cpp-dev)";
    }
    int error = 0;
    for (unsigned port = parsed.first; port <= parsed.last; port++) {
        error = metrics::try_port(parsed, static_cast<uint16_t>(port));
        if (error == 0) {
            return {};
        }
    }
    return where + ": " + std::strerror(error);
}

} // namespace

void inspect_metrics(Machine &machine, const std::string &modules)
{
    const char *where = std::getenv("UCX_BE_METRICS");
    machine.metrics   = (where == nullptr) ? "" : where;
    machine.metrics_problem.clear();
    if (!machine.metrics.empty()) {
        machine.metrics_problem = problem_with(machine.metrics, modules);
    }
}

} // namespace be::tools
