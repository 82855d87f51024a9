// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace be::tools {

inline constexpr const char *plugin_file  = "libuct_be.so.0";
inline constexpr const char *preload_file = "libbe_preload.so";

/**
 * Where the installation put things; the prefix may have been moved since.
 */
struct InstalledFolders {
    std::filesystem::path bin;
    std::filesystem::path modules;
};

/**
 * Folders that may hold the modules for a tool at `executable`, best first:
 * the build tree's, then those in the same relation to the tool as in the
 * installation, then the place that was configured.
 */
std::vector<std::filesystem::path>
module_candidates(const std::filesystem::path &executable,
                  const InstalledFolders &installed);

/**
 * The first candidate that holds the plugin and, when `need_preload`, its loader.
 *
 * @throws std::runtime_error naming the files sought and every folder tried.
 */
std::filesystem::path
find_modules(std::span<const std::filesystem::path> candidates, bool need_preload);

} // namespace be::tools
