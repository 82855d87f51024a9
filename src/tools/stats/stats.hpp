// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/stats_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace be::tools {

/** The counters of one interface of a process, and its peers. */
struct InterfaceStats : core::StatsView {
    bool fresh = false; //< of now; else of when it last made progress
};

/** Where processes of this user leave them: UCX_BE_STATS, or its default. */
std::filesystem::path stats_folder();

/**
 * Asks a process for its counters, and waits for a moment.
 *
 * @return One entry for each interface; none: it has none that this user may see.
 */
std::vector<InterfaceStats>
read_stats(const std::filesystem::path &folder, uint64_t process);

/** All that is left in a folder, of processes that have ended. */
std::vector<InterfaceStats> read_left_stats(const std::filesystem::path &folder);

/** For people. @param zeros  Those that are 0, too. */
std::string to_text(const std::vector<InterfaceStats> &stats, bool zeros);

/** For programs: one object, "schema_version" counts incompatible changes. */
std::string to_json(const std::vector<InterfaceStats> &stats);

} // namespace be::tools
