// SPDX-License-Identifier: BSD-3-Clause
//
// Serves pages of statistics over HTTP in Prometheus' format. A scrape asks each page as be_info does, so the threads
// that work find nothing new, and takes no lock of theirs.

#include "metrics/api.hpp"
#include "metrics/families.hpp"
#include "metrics/where.hpp"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace be::metrics {
namespace {

// For a process that is busy to answer. One that sleeps has left its values before.
constexpr std::chrono::milliseconds patience{50};
constexpr std::chrono::milliseconds between_looks{1};
constexpr std::size_t threads = 2;

class Pages final : public prometheus::Collectable {
public:
    void add(core::StatsPage *page)
    {
        const std::lock_guard lock(m_mutex);
        m_pages.push_back(page);
    }

    void remove(core::StatsPage *page) noexcept
    {
        const std::lock_guard lock(m_mutex);
        std::erase(m_pages, page);
    }

    std::vector<prometheus::MetricFamily> Collect() const override
    {
        const std::lock_guard lock(m_mutex);
        const auto late = std::chrono::steady_clock::now() + patience;
        std::vector<std::uint64_t> asked;
        for (core::StatsPage *page : m_pages) {
            asked.push_back(page->asked.fetch_add(1) + 1);
        }
        std::vector<core::StatsView> views;
        for (std::size_t i = 0; i < m_pages.size(); ++i) {
            while (m_pages[i]->answered.load(std::memory_order_acquire) < asked[i] &&
                   std::chrono::steady_clock::now() < late) {
                std::this_thread::sleep_for(between_looks);
            }
            views.push_back(core::read(*m_pages[i]));
        }
        return families(views);
    }

private:
    mutable std::mutex m_mutex; // a page does not go while it is read
    std::vector<core::StatsPage *> m_pages;
};

// Threads that start meanwhile take no signal of the application's, and its way with SIGPIPE, which the HTTP server
// sets, stays as it is.
class Signals {
public:
    Signals() noexcept
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &m_mask);
        sigaction(SIGPIPE, nullptr, &m_pipe);
    }

    ~Signals()
    {
        sigaction(SIGPIPE, &m_pipe, nullptr);
        pthread_sigmask(SIG_SETMASK, &m_mask, nullptr);
    }

    Signals(const Signals &)            = delete;
    Signals &operator=(const Signals &) = delete;

private:
    sigset_t m_mask;
    struct sigaction m_pipe;
};

struct Server {
    std::shared_ptr<Pages> pages = std::make_shared<Pages>();
    std::unique_ptr<prometheus::Exposer> exposer;
    pid_t process = ::getpid();
};

// Leaked at exit: its threads may run until the very end.
Server *server = nullptr;

std::unique_ptr<prometheus::Exposer> listen(const Where &where)
{
    int error = 0;
    for (unsigned port = where.first; port <= where.last; ++port) {
        error = try_port(where, static_cast<std::uint16_t>(port));
        if (error != 0) {
            continue;
        }
        try {
            return std::make_unique<prometheus::Exposer>(where.address + ":" +
                                                                 std::to_string(port),
                                                         threads);
        } catch (const std::exception &) {
            error = EADDRINUSE; // somebody was quicker
        }
    }
    throw std::runtime_error(
            where.address + ":" + std::to_string(where.first) +
            (where.first == where.last ? "" : " to " + std::to_string(where.last)) +
            ": " + std::strerror(error));
}

bool start(const char *text, char *out, std::size_t size) noexcept
{
    try {
        const Where where = parse_where(text);
        const Signals signals;
        auto started     = std::make_unique<Server>();
        started->exposer = listen(where);
        started->exposer->RegisterCollectable(started->pages);
        const auto ports = started->exposer->GetListeningPorts();
        std::snprintf(out, size, "http://%s:%d/metrics", where.address.c_str(),
                      ports.empty() ? 0 : ports.front());
        server = started.release();
        return true;
    } catch (const std::exception &error) {
        std::snprintf(out, size, "%s", error.what());
        return false;
    }
}

void stop() noexcept
{
    // In a child of fork() there are no threads to wait for.
    if (server != nullptr && server->process == ::getpid()) {
        delete server;
    }
    server = nullptr;
}

bool add(core::StatsPage *page) noexcept
{
    try {
        server->pages->add(page);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void remove(core::StatsPage *page) noexcept
{
    if (server->process == ::getpid()) {
        server->pages->remove(page);
    }
}

constexpr Api api{core::StatsPage::current_magic, start, stop, add, remove};

} // namespace
} // namespace be::metrics

extern "C" __attribute__((visibility("default"))) const be::metrics::Api *be_metrics_api()
{
    return &be::metrics::api;
}
