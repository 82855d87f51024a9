// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/options.hpp"

#include "tools/perf/runtime.hpp"
#include "tools/perf/sizes.hpp"

namespace be::tools {

void PerfOptions::complete()
{
    if (sizes.empty()) {
        sizes = ((workload == "fetch") || (workload == "push")) ? "lognormal:256-64k" :
                (workload == "rpc")                             ? "64" :
                                                                  "1m";
    }
    if (clients == 0) {
        clients = (workload == "push" || workload == "incast") ? 15 :
                  (workload == "mixed")                        ? 3 :
                                                                 1;
    }
    Sizes check(sizes);
    runtime_options(*this);
}

} // namespace be::tools
