// SPDX-License-Identifier: BSD-3-Clause
//
// A member goes to sleep and is woken, comes and leaves.

#include "engine/member.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace be::engine {

void Member::open_event_fd()
{
    m_epoll = ::epoll_create1(EPOLL_CLOEXEC);
    m_bell  = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (m_epoll < 0 || m_bell < 0) {
        const int error = errno;
        close_event_fd();
        throw std::system_error(error, std::system_category(),
                                "cannot create a descriptor to sleep on");
    }
    try {
        watch(m_bell);
    } catch (...) {
        close_event_fd();
        throw;
    }
}

void Member::close_event_fd() noexcept
{
    for (const int fd : {m_epoll, m_bell}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

void Member::watch(int fd)
{
    epoll_event event{};
    event.events  = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(m_epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        throw std::system_error(errno, std::system_category(),
                                "cannot watch a completion channel");
    }
}

void Member::stop_watching() noexcept
{
    for (const int fd : m_fabric->descriptors()) {
        (void)::epoll_ctl(m_epoll, EPOLL_CTL_DEL, fd, nullptr);
    }
    wake();
}

Member::~Member()
{
    m_fabric->leave(*this);
    close_event_fd();
}

void Member::drop_mail() noexcept
{
    for (Mail mail; m_mail.pop(mail);) {
        switch (mail.kind) {
        case Mail::Kind::message:
            m_payloads.push_back(mail.object);
            break;
        case Mail::Kind::copy:
            std::free(mail.object);
            break;
        case Mail::Kind::data:
            m_operations.push_back(static_cast<BulkOperation *>(mail.object));
            break;
        case Mail::Kind::failure:
        case Mail::Kind::completion:
            break;
        }
    }
    give_back();
}

int Member::event_fd() const noexcept
{
    return m_epoll;
}

// A bell that was rung stays so until the next arm(): its descriptor is to be readable while there is work.
be_status_t Member::arm()
{
    const std::lock_guard lock(m_fabric->lock());
    if (m_shares) {
        give_back();
        catch_up();
    }
    // One that shares its fabric is told by mail, which progress() counts.
    if (!m_mail.empty() || (!m_shares && m_told != m_told_counted)) {
        return BE_ERR_BUSY;
    }
    if (m_rung) {
        eventfd_t ignored;
        m_rung = false;
        (void)::eventfd_read(m_bell, &ignored);
    }
    if (!m_shares) {
        return m_fabric->arm();
    }
    stay_awake();
    const be_status_t status = m_fabric->arm_for_many();
    if (status != BE_OK) {
        return status;
    }
    if (!m_mail.empty() || worth_a_try()) {
        return BE_ERR_BUSY;
    }
    m_asleep = true;
    m_fabric->one_sleeps();
    return BE_OK;
}

void Member::signal()
{
    const std::lock_guard lock(m_fabric->lock());
    ring();
}

// Others poll too, so what a send was refused for may have come free since. Then the next progress() counts that as
// an event, although it finds nothing.
bool Member::worth_a_try() noexcept
{
    const std::size_t before = m_waiting.size();
    std::erase_if(m_waiting, [&](Link *link) {
        link->waiting = !m_fabric->worth_a_try(*link);
        return !link->waiting;
    });
    m_try_again = m_waiting.size() != before;
    return m_try_again;
}

void Member::stay_awake() noexcept
{
    if (m_asleep) {
        m_asleep = false;
        m_fabric->one_wakes();
    }
}

void Member::ring() noexcept
{
    stay_awake();
    m_rung = true;
    (void)::eventfd_write(m_bell, 1);
}

} // namespace be::engine
