// SPDX-License-Identifier: BSD-3-Clause
//
// What a device reports by itself: queue pairs that failed, ports that went down, its own end. The control thread reads
// it and tells all fabrics on the device, as their mail.
//
// Threads: any.

#pragma once

#include "control/node.hpp"
#include "engine/inbox.hpp"
#include "verbs/context.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace be::engine {

class DeviceEvents {
public:
    // The context outlives it. Throws verbs::Error.
    explicit DeviceEvents(const verbs::Context &context);
    DeviceEvents(const DeviceEvents &)            = delete;
    DeviceEvents &operator=(const DeviceEvents &) = delete;

    // Throws std::system_error.
    void attach(Inbox &inbox, std::shared_ptr<control::Node> node);
    // Nothing reaches the inbox any more when it returns.
    void detach(Inbox &inbox) noexcept;

private:
    void look();

    verbs::AsyncEvents m_events;
    std::mutex m_setup; // attach() and detach()
    std::shared_ptr<control::Node> m_node; // while there are inboxes

    std::mutex m_mutex;
    std::vector<Inbox *> m_inboxes;
};

} // namespace be::engine
