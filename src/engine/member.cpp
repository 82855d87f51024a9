// SPDX-License-Identifier: BSD-3-Clause

#include "engine/member.hpp"

#include "engine/log.hpp"

#include <utility>

namespace be::engine {

Member::Member(std::shared_ptr<Fabric> fabric, const be_fabric_callbacks_t &callbacks) :
    m_fabric(std::move(fabric)), m_callbacks(callbacks), m_id(m_fabric->join(*this))
{
}

Member::~Member()
{
    m_fabric->leave(*this);
}

FabricAddress Member::address() const noexcept
{
    FabricAddress address = m_fabric->address();
    address.iface         = m_id;
    return address;
}

unsigned Member::progress()
{
    unsigned events = m_fabric->poll();
    if (!m_reports.empty()) [[unlikely]] {
        events += report_failures();
    }
    return events;
}

int Member::event_fd() const noexcept
{
    return m_fabric->event_fd();
}

be_status_t Member::arm()
{
    return m_reports.empty() ? m_fabric->arm() : BE_ERR_BUSY;
}

unsigned Member::report_failures()
{
    // The callback may release peers and start others.
    const std::vector<Link *> due = std::exchange(m_reports, {});
    for (Link *link : due) {
        if (link->references != 0) {
            m_callbacks.peer_failed(m_callbacks.arg, link, link->peer.status);
        } else {
            m_fabric->log_unattended(link->peer);
        }
        m_fabric->reported(*link);
    }
    return static_cast<unsigned>(due.size());
}

} // namespace be::engine
