// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/runtime.hpp>

#include "adapter/runtime_workers.hpp"
#include "adapter/topology.hpp"
#include "be_config.h"

#include <utility>

namespace be {

namespace adapter {

namespace {

constexpr unsigned max_threads = 256;

void check(const RuntimeOptions &options)
{
    if ((options.threads < 1) || (options.threads > max_threads)) {
        throw Error(Status::closed,
                    "RuntimeOptions::threads " + std::to_string(options.threads) +
                            ": expected 1 to " + std::to_string(max_threads));
    }
    if ((options.spin < options.spin.zero()) ||
        (options.spin > std::chrono::seconds(1))) {
        throw Error(Status::closed, "RuntimeOptions::spin " +
                                            std::to_string(options.spin.count()) +
                                            " us: expected 0 to 1000000");
    }
}

} // namespace

Workers::Workers(const RuntimeOptions &options) : m_options(options)
{
    check(options);
    const exchange::Secret secret(options.token);
    const auto context = std::make_shared<Context>();
    m_loop             = std::make_shared<exchange::Loop>();
    for (unsigned i = 0; i < options.threads; i++) {
        m_workers.push_back(std::make_shared<Worker>(context, options, m_loop, secret));
    }
    for (unsigned i = 0; i < options.threads; i++) {
        m_workers[i]->start([this, i] {
            std::string why = m_options.pin ? bind_to_core(i) : std::string();
            if (!why.empty()) {
                note(std::move(why));
            }
        });
    }
}

Workers::~Workers()
{
    stop();
}

void Workers::stop()
{
    for (const auto &worker : m_workers) {
        worker->stop();
    }
    if (m_loop != nullptr) {
        m_loop->stop(); // after it has said goodbye for the workers
    }
    for (const auto &worker : m_workers) {
        worker->post([] {}); // and with it what others have left
    }
}

void Workers::note(std::string text)
{
    std::lock_guard lock(m_mutex);
    m_notes.push_back(std::move(text));
}

std::vector<std::string> Workers::notes() const
{
    std::lock_guard lock(m_mutex);
    return m_notes;
}

} // namespace adapter

Runtime::Runtime(const RuntimeOptions &options) :
    m_workers(std::make_shared<adapter::Workers>(options))
{
}

Runtime::~Runtime()
{
    m_workers->stop();
}

const RuntimeOptions &Runtime::options() const noexcept
{
    return m_workers->options();
}

RuntimeStats Runtime::stats() const noexcept
{
    RuntimeStats stats;

    for (size_t i = 0; i < m_workers->size(); i++) {
        const adapter::WorkerCounters &counters = m_workers->at(i).counters;
        stats.sent += counters.sent;
        stats.received += counters.received;
        stats.sleeps += counters.sleeps;
        stats.failures += counters.failures;
        stats.violations += counters.violations;
        stats.calls += counters.calls;
        stats.retries += counters.retries;
        stats.requests += counters.requests;
    }
    return stats;
}

std::vector<std::string> Runtime::notes() const
{
    return m_workers->notes();
}

std::string version()
{
    return std::string(PACKAGE_VERSION) + " (UCX " + ucp_get_version_string() + ")";
}

} // namespace be
