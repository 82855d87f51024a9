// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/perf/options.hpp"

#include <byteexpress/runtime.hpp>

#include <stdexcept>

namespace be::tools {

/** @throws std::invalid_argument for an unknown kind of progress. */
inline RuntimeOptions runtime_options(const PerfOptions &options)
{
    RuntimeOptions runtime;
    runtime.spin = std::chrono::microseconds(options.spin_us);
    if (options.progress == "polling") {
        runtime.progress = Progress::polling;
    } else if (options.progress == "event") {
        runtime.progress = Progress::event_driven;
    } else if (options.progress != "adaptive") {
        throw std::invalid_argument("progress '" + options.progress +
                                    "': expected polling, event or adaptive");
    }
    return runtime;
}

} // namespace be::tools
