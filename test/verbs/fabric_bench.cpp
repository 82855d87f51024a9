// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_bench.hpp"

#include "softrdma/key_values.h"

#include <stdexcept>

namespace softtest {

fabric_bench::fabric_bench(uint32_t ports) :
    m_ports(ports),
    m_counters(ports),
    state(std::make_unique<softrdma::fabric_state>()),
    model(*state, m_counters.data())
{
}

void fabric_bench::shape(const std::string &words)
{
    softrdma::fabric_settings settings;
    std::string error;
    if (!softrdma::parse_fabric(softrdma::split(words, ' '), settings, error)) {
        throw std::runtime_error(error);
    }
    for (uint32_t port = 0; port < m_ports; ++port) {
        state->settings[port].store(settings);
    }
}

uint32_t fabric_bench::flow(uint32_t from)
{
    return model.open_flow(from, from);
}

uint32_t
fabric_bench::send(uint32_t from, uint64_t bytes, softrdma::message_request request)
{
    request.flow  = (request.flow != 0) ? request.flow : flow(from);
    request.bytes = bytes;
    return model.send(request, now);
}

softrdma::message_fate fabric_bench::fate(uint32_t message, uint64_t until)
{
    for (;;) {
        softrdma::message_fate result = model.look(message, now);
        bool over                     = result.state != softrdma::message_state::queued;
        if (over || (result.when > until)) {
            return result;
        }
        now = result.when;
    }
}

uint64_t fabric_bench::delivered(uint32_t message, uint64_t until)
{
    softrdma::message_fate result = fate(message, until);
    return (result.state == softrdma::message_state::delivered) ? result.when : 0;
}

} // namespace softtest
