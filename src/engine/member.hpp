// SPDX-License-Identifier: BSD-3-Clause
//
// One interface of the upper layer on a fabric: its id, its callbacks, and what it still has to be told.
//
// Threads: one at a time, the worker's. The fabric calls deliver(), complete() and unpack() from inside poll().

#pragma once

#include "engine/c_api.h"
#include "engine/fabric.hpp"

#include <cstdint>
#include <memory>
#include <vector>

struct be_fabric {};

namespace be::engine {

class Member : public ::be_fabric {
public:
    // Throws std::runtime_error, std::bad_alloc.
    Member(std::shared_ptr<Fabric> fabric, const be_fabric_callbacks_t &callbacks);
    ~Member();
    Member(const Member &)            = delete;
    Member &operator=(const Member &) = delete;

    std::uint16_t id() const noexcept
    {
        return m_id;
    }

    Fabric &fabric() noexcept
    {
        return *m_fabric;
    }

    const Fabric &fabric() const noexcept
    {
        return *m_fabric;
    }

    // The fabric's with this interface's id.
    FabricAddress address() const noexcept;

    unsigned progress();
    int event_fd() const noexcept;
    be_status_t arm();

    // Of the fabric
    be_rx_result_t
    deliver(std::uint8_t am_id, void *payload, std::size_t length, bool keep)
    {
        return m_callbacks.am(m_callbacks.arg, am_id, payload, length, keep);
    }

    void complete(void *completion, be_status_t status)
    {
        if (completion != nullptr) {
            m_callbacks.complete(m_callbacks.arg, completion, status);
        }
    }

    void unpack(void *func, void *arg, const void *data, std::size_t length)
    {
        m_callbacks.unpack(m_callbacks.arg, func, arg, data, length);
    }

    // peer_failed is to be called.
    void report(Link &link)
    {
        m_reports.push_back(&link);
    }

private:
    unsigned report_failures();

    const std::shared_ptr<Fabric> m_fabric;
    const be_fabric_callbacks_t m_callbacks;
    const std::uint16_t m_id;
    std::vector<Link *> m_reports;
};

} // namespace be::engine
