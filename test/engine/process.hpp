// SPDX-License-Identifier: BSD-3-Clause
//
// The members of a process that share a fabric. Fabrics that stand for different processes differ in a setting that does
// nothing here.

#pragma once

#include "world.hpp"

namespace test {

inline be_fabric_config_t config_of(const Device &device, unsigned process)
{
    be_fabric_config_t config = device.config();
    config.mux                = BE_MUX_PROCESS;
    config.connect_timeout    = 100 + process;
    return config;
}

struct Process {
    Process(Device &device, unsigned number, unsigned members,
            const std::function<void(be_fabric_config_t &)> &change = {})
    {
        be_fabric_config_t config = config_of(device, number);
        if (change) {
            change(config);
        }
        for (unsigned i = 0; i < members; ++i) {
            nodes.push_back(std::make_unique<Node>(device, config));
        }
    }

    Node &operator[](size_t i) const
    {
        return *nodes[i];
    }

    std::vector<std::unique_ptr<Node>> nodes;
};

inline bool wait_all(std::initializer_list<const Process *> processes,
                     const std::function<bool()> &done)
{
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        for (const Process *process : processes) {
            for (const auto &node : process->nodes) {
                if (node->fabric != nullptr) {
                    be_fabric_progress(node->fabric);
                }
            }
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
    }
    return true;
}

} // namespace test
