// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/modules.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace be::tools {

namespace fs = std::filesystem;

std::vector<fs::path>
module_candidates(const fs::path &executable, const InstalledFolders &installed)
{
    const fs::path bin = executable.parent_path();
    std::vector<fs::path> candidates;

    const auto add = [&candidates](const fs::path &path) {
        const fs::path normal = path.lexically_normal();
        if (std::find(candidates.begin(), candidates.end(), normal) == candidates.end()) {
            candidates.push_back(normal);
        }
    };

    // BUILD/src/tools/be_run, or BUILD/src/tools/.libs/be_run; never an installation's bin
    const fs::path tools = (bin.filename() == ".libs") ? bin.parent_path() : bin;
    if (tools.filename() == "tools" && tools.parent_path().filename() == "src") {
        add(tools / "../../modules");
    }

    add(bin / installed.modules.lexically_relative(installed.bin));
    add(bin / "../lib/ucx");
    add(bin / "../lib64/ucx");
    add(installed.modules);
    return candidates;
}

fs::path find_modules(std::span<const fs::path> candidates, bool need_preload)
{
    const auto has = [](const fs::path &folder, const char *file) {
        std::error_code ignored;
        return fs::exists(folder / file, ignored);
    };

    for (const fs::path &folder : candidates) {
        if (has(folder, plugin_file) && (!need_preload || has(folder, preload_file))) {
            return folder;
        }
    }

    std::string tried;
    for (const fs::path &folder : candidates) {
        tried += (tried.empty() ? "" : ", ") + folder.string();
    }

    throw std::runtime_error(fmt::format("{}{}{} not found; tried {}", plugin_file,
                                         need_preload ? " with " : "",
                                         need_preload ? preload_file : "", tried));
}

} // namespace be::tools
