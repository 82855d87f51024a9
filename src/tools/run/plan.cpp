// SPDX-License-Identifier: BSD-3-Clause
#include "tools/run/plan.hpp"
#include "tools/run/modules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace be::tools {

namespace {

/* What makes Open MPI 4 and 5 use UCX with whatever transport it offers. Debian's
 * system-wide configuration switches ucx off; the environment comes before that. */
constexpr std::array<std::pair<const char *, const char *>, 4> open_mpi_variables{
        {{"OMPI_MCA_pml", "ucx"},
         {"OMPI_MCA_osc", "ucx"},
         {"OMPI_MCA_pml_ucx_tls", "any"},
         {"OMPI_MCA_pml_ucx_devices", "any"}}};

constexpr std::array forwarded_prefixes = {"UCX_", "SOFTRDMA_"};

std::string value_of(const Environment &environment, const std::string &name)
{
    const auto found = environment.find(name);
    return (found == environment.end()) ? "" : found->second;
}

/* Puts `entry` first in a colon-separated list, once. */
std::string prepend(const std::string &entry, const std::string &list)
{
    if (list == entry || list.starts_with(entry + ":")) {
        return list;
    }

    return list.empty() ? entry : entry + ":" + list;
}

/* The same at the end. */
std::string append(const std::string &entry, const std::string &list)
{
    if (list == entry || list.ends_with(":" + entry)) {
        return list;
    }

    return list.empty() ? entry : list + ":" + entry;
}

/* UCX_TLS is a list of names, "all", or with ^ the names that are not wanted. */
bool transports_include_be(std::string_view list)
{
    const bool negated = list.starts_with('^');
    bool listed        = false;

    if (negated) {
        list.remove_prefix(1);
    }

    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        listed = listed || name == "be" || (!negated && name == "all");
        list.remove_prefix(std::min(list.size(), name.size() + 1));
    }

    return listed != negated;
}

void forward_variables(Plan &plan, const Environment &environment)
{
    Environment all = environment;
    std::vector<std::string> options;

    all.insert(plan.variables.begin(), plan.variables.end());
    for (const auto &[name, value] : all) {
        const bool wanted = plan.variables.contains(name) ||
                            std::any_of(forwarded_prefixes.begin(),
                                        forwarded_prefixes.end(),
                                        [&name = name](const char *prefix) {
                                            return name.starts_with(prefix);
                                        });
        if (wanted) {
            options.insert(options.end(), {"-x", name});
        }
    }

    plan.command.insert(plan.command.begin() + 1, options.begin(), options.end());
}

} // namespace

bool is_open_mpi_launcher(const std::string &program)
{
    constexpr std::array names = {"mpirun", "mpiexec", "orterun", "oshrun", "prterun"};
    const std::string name     = std::filesystem::path(program).filename().string();

    return std::any_of(names.begin(), names.end(), [&name](const std::string &launcher) {
        return name == launcher || name == launcher + ".openmpi";
    });
}

std::string name_device(const std::string &device, bool is_verbs_device)
{
    const bool has_port = device.find(':') != std::string::npos;
    return (is_verbs_device && !has_port) ? device + ":1" : device;
}

Plan make_plan(const Request &request, const Environment &environment, bool open_mpi)
{
    Plan plan;
    plan.command = request.command;

    const auto set = [&plan, &environment](const std::string &name,
                                           const std::string &value) {
        if (!environment.contains(name)) {
            plan.variables[name] = value;
        }
    };

    if (request.ucx >= plugin_path_since) {
        plan.variables["UCX_PLUGIN_PATH"] = prepend(request.modules.string(),
                                                    value_of(environment,
                                                             "UCX_PLUGIN_PATH"));
    } else {
        /* Last: sanitizers insist on being the first library, and we do not. */
        plan.variables["LD_PRELOAD"] = append((request.modules / preload_file).string(),
                                              value_of(environment, "LD_PRELOAD"));
    }

    set("UCX_TLS", "be,self");
    for (const auto &[name, value] : open_mpi_variables) {
        set(name, value);
    }

    if (!request.device.empty()) {
        plan.variables["UCX_NET_DEVICES"] = request.device;
        if (request.device.find(':') != std::string::npos) {
            plan.variables["UCX_BE_RESOURCE_NAME"] = "port";
        }
    }

    const std::string transports = value_of(environment, "UCX_TLS");
    if (!transports.empty() && !transports_include_be(transports)) {
        plan.warnings.push_back(
                fmt::format("UCX_TLS={} is set and kept: it leaves be out", transports));
    }

    if (open_mpi) {
        forward_variables(plan, environment);
    }

    return plan;
}

} // namespace be::tools
