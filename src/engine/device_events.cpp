// SPDX-License-Identifier: BSD-3-Clause

#include "engine/device_events.hpp"

#include <utility>

namespace be::engine {

DeviceEvents::DeviceEvents(const verbs::Context &context) : m_events(context)
{
}

void DeviceEvents::attach(Inbox &inbox, std::shared_ptr<control::Node> node)
{
    const std::lock_guard setup(m_setup);
    {
        const std::lock_guard lock(m_mutex);
        m_inboxes.push_back(&inbox);
    }
    if (m_node == nullptr) {
        try {
            node->watch(m_events.fd(), [this] { look(); });
            m_node = std::move(node);
        } catch (...) {
            const std::lock_guard lock(m_mutex);
            m_inboxes.pop_back();
            throw;
        }
    }
}

void DeviceEvents::detach(Inbox &inbox) noexcept
{
    const std::lock_guard setup(m_setup);
    {
        const std::lock_guard lock(m_mutex);
        std::erase(m_inboxes, &inbox);
        if (!m_inboxes.empty()) {
            return;
        }
    }
    if (const auto node = std::exchange(m_node, nullptr)) {
        node->unwatch(m_events.fd()); // waits for look(), which takes the mutex
    }
}

void DeviceEvents::look()
{
    const std::lock_guard lock(m_mutex);
    while (const auto event = m_events.next()) {
        if (event->kind == verbs::AsyncEvent::Kind::other) {
            continue;
        }
        for (Inbox *inbox : m_inboxes) {
            inbox->on_device(*event);
        }
    }
}

} // namespace be::engine
