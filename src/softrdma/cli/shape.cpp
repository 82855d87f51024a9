// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/shape.h"

#include "softrdma/cli/select.h"

namespace softrdma::cli {

std::string shape(const std::string &domain_name, const std::vector<std::string> &words)
{
    std::vector<std::string> rest = words;
    selection wanted              = take_selection(rest);
    fabric_settings settings;
    std::string error;
    if (!parse_fabric_words(rest, settings, error)) {
        throw bad_input(error);
    }

    domain where(domain_name);
    std::vector<port_view> ports = where.ports(wanted);
    if (ports.empty()) {
        throw std::runtime_error("no process uses the device in domain \"" + domain_name +
                                 "\"");
    }
    std::string done;
    for (const port_view &view : ports) {
        // What is not named stays, so that the same words may not fit every port.
        settings = where.settings(view);
        if (!parse_fabric(rest, settings, error)) {
            throw bad_input(device_name(view.device) + " of process " +
                            std::to_string(view.owner->pid) + ": " + error);
        }
        where.shape(view, settings);
        done += device_name(view.device) + " of process " +
                std::to_string(view.owner->pid) + " (" + view.owner->command +
                "): " + to_string(settings) + "\n";
    }
    return done;
}

} // namespace softrdma::cli
