// SPDX-License-Identifier: BSD-3-Clause
#include "port_view.hpp"

#include "site.hpp"

#include "softrdma/cli/report.h"
#include "softrdma/counters.h"
#include "softrdma/key_values.h"

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace softtest {
namespace {

std::map<std::string, uint64_t> values(softrdma::port_shared &port)
{
    std::map<std::string, uint64_t> result;
    for (const auto &entry : softrdma::list_counters(port)) {
        result[softrdma::cli::shown_name(entry.name, entry.unit)] = entry.source->value();
    }
    return result;
}

// The device of that name, the first one when it is empty.
uint32_t number_of(const std::string &name)
{
    return name.empty() ? 0 : softrdma::parse_device(name).value();
}

} // namespace

boost::test_tools::assertion_result on_software_device(boost::unit_test::test_unit_id)
{
    return where_we_are().soft;
}

softrdma::cli::domain &test_domain()
{
    static softrdma::cli::domain instance(getenv("SOFTRDMA_DOMAIN"));
    instance.refresh();
    return instance;
}

port_watch::port_watch(pid_t pid) :
    m_pid(pid),
    m_device(number_of((pid == getpid()) ? where_we_are().own_device :
                                           where_we_are().servants_device)),
    m_port(test_domain().ports({pid, m_device}).front().port),
    m_before(values(*m_port))
{
}

uint64_t port_watch::value(const std::string &name)
{
    return values(*m_port).at(name);
}

uint64_t port_watch::change(const std::string &name)
{
    return value(name) - m_before.at(name);
}

const char *port_watch::state() const
{
    return softrdma::cli::port_state(*m_port);
}

void port_watch::shape(const std::string &words)
{
    softrdma::fabric_settings settings;
    std::string error;
    if (!softrdma::parse_fabric(softrdma::split(words, ' '), settings, error)) {
        throw std::runtime_error(error);
    }
    test_domain().shape(test_domain().ports({m_pid, m_device}).front(), settings);
}

int port_watch::fault(const std::string &words)
{
    softrdma::fault wanted;
    std::string error;
    if (!softrdma::parse_fault(softrdma::split(words, ' '), wanted, error)) {
        throw std::runtime_error(error);
    }
    wanted.device = m_device;
    for (const auto &process : test_domain().processes()) {
        if (process.pid == m_pid) {
            return test_domain().order(process, wanted);
        }
    }
    throw std::runtime_error("the process is gone");
}

uint64_t device_total(const std::string &name)
{
    softrdma::port_shared shape{};
    auto list = softrdma::list_counters(shape);
    for (size_t i = 0; i < list.size(); ++i) {
        if (softrdma::cli::shown_name(list[i].name, list[i].unit) == name) {
            return test_domain().total(number_of(where_we_are().servants_device), i);
        }
    }
    throw std::runtime_error("no counter " + name);
}

} // namespace softtest
