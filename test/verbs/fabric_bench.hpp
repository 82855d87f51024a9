// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric model on a time of its own, with a few ports: number 0 receives.
#pragma once

#include "softrdma/fabric_model.h"

#include <memory>
#include <string>
#include <vector>

namespace softtest {

class fabric_bench {
public:
    explicit fabric_bench(uint32_t ports);

    // "rate=10G delay=2us" for all ports.
    void shape(const std::string &words);

    // Sends from a port to port 0, over a flow of its own unless one is given. The message's number.
    uint32_t send(uint32_t from, uint64_t bytes, softrdma::message_request request = {});

    // When the message was delivered, 0 when it was not in time. Asks as often as the model says.
    uint64_t delivered(uint32_t message, uint64_t until = 10'000'000'000);
    softrdma::message_fate fate(uint32_t message, uint64_t until = 10'000'000'000);

    softrdma::port_shared &counters(uint32_t port)
    {
        return m_counters[port];
    }

    uint32_t flow(uint32_t from);

private:
    uint32_t m_ports;
    std::vector<softrdma::port_shared> m_counters;

public:
    std::unique_ptr<softrdma::fabric_state> state;
    softrdma::fabric_model model;
    uint64_t now = 1'000'000;
};

} // namespace softtest
