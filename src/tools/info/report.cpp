// SPDX-License-Identifier: BSD-3-Clause
#include "tools/info/report.hpp"
#include "tools/run/modules.hpp"

#include "be_config.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace be::tools {

namespace {

struct SoftModeName {
    const char *name;
    verbs::SoftMode mode;
};

constexpr std::array soft_modes{SoftModeName{"auto", verbs::SoftMode::automatic},
                                SoftModeName{"yes", verbs::SoftMode::yes},
                                SoftModeName{"no", verbs::SoftMode::no}};

} // namespace

bool Report::ucx_matches() const
{
    return ucx && built_for.starts_with(
                          fmt::format("{}.{}.", ucx->version.major, ucx->version.minor));
}

const verbs::PortReport *Report::used_port() const
{
    const auto found = std::find_if(devices.ports.begin(), devices.ports.end(),
                                    [](const verbs::PortReport &port) {
                                        return port.usable;
                                    });
    return (found == devices.ports.end()) ? nullptr : &*found;
}

verbs::SoftMode parse_soft_mode(const std::string &value)
{
    for (const SoftModeName &known : soft_modes) {
        if (strcasecmp(value.c_str(), known.name) == 0) {
            return known.mode;
        }
    }

    throw std::invalid_argument(
            fmt::format("UCX_BE_SOFT={}: accepted are auto, yes and no", value));
}

const char *to_string(verbs::SoftMode mode)
{
    for (const SoftModeName &known : soft_modes) {
        if (known.mode == mode) {
            return known.name;
        }
    }

    return "?";
}

Report collect_report()
{
    Report report;
    report.package_version = PACKAGE_VERSION;
#ifdef BE_UCX_VERSION
    report.built_for = BE_UCX_VERSION;
#endif

    const char *soft = std::getenv("UCX_BE_SOFT");
    report.soft_mode = parse_soft_mode((soft == nullptr) ? "auto" : soft);

    bool need_preload = false;
    try {
        report.ucx   = find_ucx_library();
        need_preload = report.ucx->version < plugin_path_since;
    } catch (const std::runtime_error &error) {
        report.ucx_problem = error.what();
    }

    try {
        const auto candidates = module_candidates(std::filesystem::read_symlink(
                                                          "/proc/self/exe"),
                                                  {BE_BINDIR, BE_MODULEDIR});
        report.modules        = find_modules(candidates, need_preload);

        // The transport finds the software device beside itself; here that is elsewhere.
        setenv("UCX_BE_SOFT_LIBRARY", (report.modules + "/libsoftrdma.so").c_str(), 0);
    } catch (const std::runtime_error &error) {
        report.modules_problem = error.what();
    }

    report.devices = verbs::discover(report.soft_mode);
    return report;
}

} // namespace be::tools
