// SPDX-License-Identifier: BSD-3-Clause
//
// A member at work: progress and mail. member_sleep.cpp has its sleep.

#include "engine/member.hpp"

#include <algorithm>
#include <cstdlib>
#include <sched.h>
#include <utility>

namespace be::engine {
namespace {

// Mails opened in one call of progress(): as much as UCX expects to be done in one.
constexpr unsigned mails_at_once = 64;

// Calls of progress() that find nothing until the processor is given away: the software device's own figure, which
// it does not apply where a lock is held.
constexpr unsigned idle_calls_to_yield = 100;

} // namespace

Member::Member(std::shared_ptr<Fabric> fabric, const be_fabric_callbacks_t &callbacks) :
    m_fabric(std::move(fabric)),
    m_callbacks(callbacks),
    m_shares(m_fabric->lock().shared())
{
    open_event_fd();
    try {
        const std::lock_guard lock(m_fabric->lock());
        if (m_fabric->unwatched()) {
            for (const int fd : m_fabric->descriptors()) {
                if (fd >= 0) {
                    watch(fd);
                }
            }
        }
        m_id = m_fabric->join(*this);
    } catch (...) {
        close_event_fd();
        throw;
    }
}

FabricAddress Member::address() const noexcept
{
    FabricAddress address = m_fabric->address();
    address.iface         = m_id;
    return address;
}

unsigned Member::progress()
{
    if (!m_shares) {
        const unsigned events = m_fabric->poll();
        const unsigned mails  = m_mail.empty() ? 0 : open_mail();
        return std::max(events + mails, told());
    }

    const unsigned again = std::exchange(m_try_again, false);
    unsigned events      = 0;
    if (m_fabric->lock().try_lock()) {
        stay_awake();
        give_back();
        catch_up();
        events = m_fabric->poll_for(*this);
        m_fabric->lock().unlock();
    }
    const unsigned mails = m_mail.empty() ? 0 : open_mail();
    if (events + mails != 0) {
        m_idle_calls = 0;
    } else if (++m_idle_calls % idle_calls_to_yield == 0 && m_fabric->yields()) {
        ::sched_yield();
    }
    // What it did for others is no news to this worker, which would never come to rest.
    return mails + again + (m_fabric->crowded() ? 0 : events);
}

// Since it was last asked.
unsigned Member::told() noexcept
{
    return m_told - std::exchange(m_told_counted, m_told);
}

unsigned Member::open_mail()
{
    unsigned count = 0;
    for (Mail mail; count < mails_at_once && m_mail.pop(mail); ++count) {
        open(mail);
    }
    if (m_payloads.size() + m_operations.size() >= m_fabric->give_back_batch() ||
        m_holds.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(m_fabric->lock());
        give_back();
        catch_up();
    }
    return count;
}

void Member::open(const Mail &mail)
{
    switch (mail.kind) {
    case Mail::Kind::message:
        if (deliver(mail.am_id, mail.object, mail.length, mail.keep) == BE_RX_KEPT) {
            ++m_kept;
            break;
        }
        m_copied += !mail.keep;
        m_payloads.push_back(mail.object);
        break;
    case Mail::Kind::copy:
        (void)deliver(mail.am_id, mail.object, mail.length, false);
        ++m_copied;
        std::free(mail.object);
        break;
    case Mail::Kind::completion:
        m_callbacks.complete(m_callbacks.arg, mail.object, mail.status);
        break;
    case Mail::Kind::data: {
        auto *operation = static_cast<BulkOperation *>(mail.object);
        unpack(*operation);
        m_operations.push_back(operation);
        if (operation->completion != nullptr) {
            m_callbacks.complete(m_callbacks.arg, operation->completion, mail.status);
        }
        break;
    }
    case Mail::Kind::failure:
        report(*static_cast<Link *>(mail.object), mail.status);
        break;
    }
}

void Member::report(Link &link, be_status_t status)
{
    // Whoever hears of it may give up his references.
    if (link.references != 0) {
        m_callbacks.peer_failed(m_callbacks.arg, &link, status);
    } else {
        m_fabric->log_unattended(link.peer);
    }
    const std::lock_guard lock(m_fabric->lock());
    m_fabric->reported(link);
}

void Member::give_back() noexcept
{
    m_fabric->take_back(m_payloads, m_operations, std::exchange(m_kept, 0),
                        std::exchange(m_copied, 0));
}

void Member::release_payload(void *payload) noexcept
{
    if (m_shares) {
        m_payloads.push_back(payload);
        if (m_payloads.size() < m_fabric->give_back_batch()) {
            return;
        }
        const std::lock_guard lock(m_fabric->lock());
        give_back();
        return;
    }
    m_fabric->release_payload(payload);
}

void Member::hold(Peer &peer)
{
    m_held.push_back(&peer);
    m_holds.store(true, std::memory_order_relaxed);
}

void Member::forget(const Peer &peer) noexcept
{
    std::erase(m_held, &peer);
    m_holds.store(!m_held.empty(), std::memory_order_relaxed);
}

void Member::forget(const Link &link) noexcept
{
    std::erase(m_waiting, &link);
}

// Looked at whenever the lock is there, not only after mail: the peer may have been told when the last was opened.
void Member::catch_up()
{
    if (!m_held.empty() && backlog() <= m_fabric->resume_at()) {
        m_holds.store(false, std::memory_order_relaxed);
        m_fabric->resume(*this, std::exchange(m_held, {}));
    }
}

} // namespace be::engine
