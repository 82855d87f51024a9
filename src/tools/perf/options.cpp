// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/options.hpp"

#include "tools/perf/runtime.hpp"
#include "tools/perf/sizes.hpp"

#include <algorithm>

namespace be::tools {

void PerfOptions::complete()
{
    if (sizes.empty()) {
        sizes = ((workload == "fetch") || (workload == "push") || (workload == "soak")) ?
                        "lognormal:256-64k" :
                (workload == "rpc") ? "64" :
                                      "1m";
    }
    if (clients == 0) {
        clients = (workload == "push" || workload == "incast") ? 15 :
                  (workload == "mixed")                        ? 3 :
                  (workload == "soak")                         ? 2 :
                                                                 1;
    }
    if (pairs == 0) {
        pairs = (workload == "soak") ? 1 : 5;
    }
    if (workload == "soak") { // all that grows in the beginning has grown
        warm_up = std::max(warm_up, std::min(seconds / 10, 10.0));
    }
    parse_size(growth);
    Sizes check(sizes);
    runtime_options(*this);
}

} // namespace be::tools
