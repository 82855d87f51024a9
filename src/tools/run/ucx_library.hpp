// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace be::tools {

/**
 * A release of UCX, ordered as releases are.
 */
struct UcxVersion {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;

    auto operator<=>(const UcxVersion &) const = default;

    std::string to_string() const;
};

/**
 * First release that opens modules from the folders named in UCX_PLUGIN_PATH.
 * Source: UCX's src/ucs/sys/module.c, absent in 1.21.
 */
inline constexpr UcxVersion plugin_path_since{1, 22, 0};

/**
 * The libucp that a program started from this process would get.
 */
struct UcxLibrary {
    UcxVersion version;
    std::string path;
};

/**
 * Asks the dynamic loader, so that LD_LIBRARY_PATH and the system's configuration
 * count as they will for the program. (A program with a search path of its own may
 * still get another one.)
 *
 * @throws std::runtime_error that names what was sought, where, and the loader's reason.
 */
UcxLibrary find_ucx_library();

} // namespace be::tools
