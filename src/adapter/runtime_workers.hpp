// SPDX-License-Identifier: BSD-3-Clause
//
// The workers of a runtime.
#pragma once

#include "adapter/worker.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace be::adapter {

class Workers {
public:
    // Throws Error.
    explicit Workers(const RuntimeOptions &options);
    ~Workers();
    Workers(const Workers &)            = delete;
    Workers &operator=(const Workers &) = delete;

    // Ends the threads. Idempotent.
    void stop();

    size_t size() const noexcept
    {
        return m_workers.size();
    }

    Worker &at(size_t index) const noexcept
    {
        return *m_workers[index];
    }

    // In turns.
    std::shared_ptr<Worker> next() noexcept
    {
        return m_workers[m_turn.fetch_add(1, std::memory_order_relaxed) % size()];
    }

    const RuntimeOptions &options() const noexcept
    {
        return m_options;
    }

    void note(std::string text);
    std::vector<std::string> notes() const;

private:
    const RuntimeOptions m_options;
    std::shared_ptr<exchange::Loop> m_loop;
    std::vector<std::shared_ptr<Worker>> m_workers;
    std::atomic<unsigned> m_turn = 0;
    mutable std::mutex m_mutex;
    std::vector<std::string> m_notes;
};

} // namespace be::adapter
