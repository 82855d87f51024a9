// SPDX-License-Identifier: BSD-3-Clause
//
// One interface's metrics in a page for others (core/stats_page.hpp): in a file that programs of the same user read, and
// over HTTP if that is wanted. Nothing of it is on the data path: it is looked at now and then.
//
// Threads: the worker's, like the interface's own functions.

#pragma once

#include "core/stats_page.hpp"
#include "engine/c_api.h"
#include "engine/metrics_server.hpp"

#include <chrono>
#include <optional>
#include <string>

struct be_stats {};

namespace be::engine {

class StatsFile : public ::be_stats {
public:
    // `folder` null: no file; empty: the user's own, made if need be, where the file is removed at the end; else that
    // one, where it stays. Throws std::system_error, std::runtime_error.
    StatsFile(be_fabric_t *fabric, const char *device, const char *folder,
              const std::string &serve);
    ~StatsFile();
    StatsFile(const StatsFile &)            = delete;
    StatsFile &operator=(const StatsFile &) = delete;

    // Answers, if somebody has asked.
    void poll() noexcept
    {
        if (m_page->asked.load(std::memory_order_acquire) !=
            m_page->answered.load(std::memory_order_relaxed)) {
            publish();
        }
    }

    // Before sleeping, when nobody can be answered. Seldom while nobody is interested.
    void rest() noexcept;

private:
    void open_file(const std::string &folder);
    void name_metrics();
    void publish() noexcept;

    be_fabric_t *const m_fabric;
    const bool m_stays;
    std::string m_path;
    int m_fd                = -1; // locked as long as the process lives; -1: no file
    core::StatsPage *m_page = nullptr;
    std::chrono::steady_clock::time_point m_published{};
    std::chrono::steady_clock::time_point m_watched{}; // until then
    std::uint64_t m_asked_before = 0;
    std::optional<ServedPage> m_served;
};

} // namespace be::engine
