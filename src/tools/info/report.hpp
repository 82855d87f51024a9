// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/run/ucx_library.hpp"
#include "verbs/discovery.hpp"

#include <optional>
#include <string>

namespace be::tools {

/**
 * What be_info knows about this machine and this package.
 */
struct Report {
    std::string package_version;
    std::string built_for; //< UCX release the plugin was built for; empty: none was built
    std::optional<UcxLibrary> ucx;
    std::string ucx_problem; //< why there is no `ucx`
    std::string modules; //< folder of the plugin; empty: not found
    std::string modules_problem;
    verbs::SoftMode soft_mode = verbs::SoftMode::automatic;
    verbs::Discovery devices;

    /** The plugin takes part only in the release it was built for (major and minor). */
    bool ucx_matches() const;

    /** The first port that the transport uses; nullptr: none. */
    const verbs::PortReport *used_port() const;
};

/**
 * UCX_BE_SOFT's value as UCX would read it.
 *
 * @throws std::invalid_argument naming the variable, the value and what is accepted.
 */
verbs::SoftMode parse_soft_mode(const std::string &value);

const char *to_string(verbs::SoftMode mode);

/**
 * Looks at the machine. What is missing becomes a text in the report.
 *
 * @throws std::invalid_argument for a bad UCX_BE_SOFT.
 */
Report collect_report();

} // namespace be::tools
