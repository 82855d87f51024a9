// SPDX-License-Identifier: BSD-3-Clause

#include "engine/inbox.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace be::engine {

Inbox::Inbox() : m_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
    if (m_fd < 0) {
        throw std::system_error(errno, std::system_category(),
                                "cannot create an eventfd");
    }
}

Inbox::~Inbox()
{
    ::close(m_fd);
}

void Inbox::take(std::vector<ControlEvent> &out)
{
    const std::lock_guard lock(m_mutex);
    m_events.swap(out);
    m_pending.store(false, std::memory_order_relaxed);
    eventfd_t ignored;
    (void)::eventfd_read(m_fd, &ignored);
}

void Inbox::push(ControlEvent event)
{
    const std::lock_guard lock(m_mutex);
    m_events.push_back(std::move(event));
    m_pending.store(true, std::memory_order_relaxed);
    (void)::eventfd_write(m_fd, 1);
}

void Inbox::on_connect(control::ConnectionId id, const control::ConnectInfo &peer)
{
    push({ControlEvent::Kind::connect, id, peer, {}, {}});
}

void Inbox::on_accept(control::ConnectionId id, const control::ConnectInfo &peer)
{
    push({ControlEvent::Kind::accept, id, peer, {}, {}});
}

void Inbox::on_ready(control::ConnectionId id)
{
    push({ControlEvent::Kind::ready, id, {}, {}, {}});
}

void Inbox::on_closed(control::ConnectionId id, control::Reason reason,
                      const std::string &detail)
{
    push({ControlEvent::Kind::closed, id, {}, reason, detail});
}

} // namespace be::engine
