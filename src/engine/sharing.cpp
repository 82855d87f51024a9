// SPDX-License-Identifier: BSD-3-Clause
//
// What a fabric does because several members may share it: they join and leave, poll for each other, sleep, and give
// back what their mail referred to.

#include "engine/fabric.hpp"
#include "engine/log.hpp"
#include "engine/member.hpp"
#include "engine/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sched.h>
#include <utility>

namespace be::engine {
namespace {

// How long a member that leaves waits for its own operations. Beyond it, their peers are given up, which makes
// the device let go of the memory.
constexpr auto leave_limit = std::chrono::seconds(1);

} // namespace

std::uint16_t Fabric::join(Member &member)
{
    std::size_t id = m_members.size();
    if (id <= UINT16_MAX) {
        m_members.push_back(&member);
    } else {
        // Each id has been used: the one that has been free for longest is likely to be forgotten.
        for (id = m_next_id; m_members[id] != nullptr; id = (id + 1) & UINT16_MAX) {
            if (m_member_count > UINT16_MAX) {
                throw std::runtime_error("the fabric has 65536 interfaces, as many as it "
                                         "can name");
            }
        }
        m_members[id] = &member;
        m_next_id     = static_cast<std::uint16_t>(id + 1);
    }
    if (++m_member_count == 2 && !m_crowded) {
        m_crowded = true;
        for (Member *other : m_members) {
            if (other != nullptr && other != &member) {
                other->stop_watching();
            }
        }
    }
    return static_cast<std::uint16_t>(id);
}

void Fabric::leave(Member &member) noexcept
{
    if (!m_lock.shared() || m_lock.inherited()) {
        m_members[member.id()] = nullptr;
        --m_member_count;
        return;
    }
    {
        const std::lock_guard lock(m_lock);
        cancel_operations(member);
    }
    const auto deadline = std::chrono::steady_clock::now() + leave_limit;
    for (bool given_up = false;;) {
        {
            const std::lock_guard lock(m_lock);
            (void)poll();
            if (idle(member)) {
                break;
            }
            if (!given_up && std::chrono::steady_clock::now() > deadline) {
                given_up = true;
                give_up(member);
            }
        }
        ::sched_yield();
    }
    const std::lock_guard lock(m_lock);
    member.drop_mail();
    forget(member);
    m_members[member.id()] = nullptr;
    if (--m_member_count == 0) {
        return; // the fabric says goodbye
    }
    for (const auto &peer : m_peers) {
        if (peer != nullptr) {
            announce(*peer, Note::gone, member.id());
        }
    }
}

// Nothing of its is with the device, or waited for.
bool Fabric::idle(const Member &member)
{
    bool idle = member.zero_copies == 0;
    visit_links(member, [&](const Link &link) {
        idle = idle && !link.bulk_outstanding() && link.parked == 0 &&
               link.waiters.empty();
    });
    return idle;
}

void Fabric::give_up(const Member &member)
{
    // Messages name no link: any peer may have those.
    visit_links(member, [&](Link &link) {
        if (member.zero_copies != 0 || link.bulk_outstanding() || link.parked != 0 ||
            !link.waiters.empty()) {
            fail(link.peer, BE_ERR_IO,
                 "operations of an interface that closes do not complete");
        }
    });
}

void Fabric::forget(Member &member) noexcept
{
    const auto forget_links = [&](Peer &peer) {
        std::erase(peer.holding, member.id());
        std::erase_if(peer.flushing,
                      [&](const Link *link) { return &link->member == &member; });
        std::erase_if(peer.links, [&](const auto &entry) {
            if (&entry.second->member != &member) {
                return false;
            }
            peer.queued -= entry.second->queued;
            return true;
        });
    };
    for (const auto *peers : {&m_peers, &m_dead}) {
        for (const auto &peer : *peers) {
            if (peer != nullptr) {
                forget_links(*peer);
            }
        }
    }
    m_free_due = true;
    if (member.sleeps()) {
        one_wakes();
    }
}

bool Fabric::suits(const Device &device, std::uint8_t port,
                   const be_fabric_config_t &config) const noexcept
{
    return m_device.get() == &device && m_port == port && !m_queue_failed &&
           compatible(m_config, config);
}

unsigned Fabric::poll_for(Member &member)
{
    ++m_polls;
    m_poller              = &member;
    const unsigned events = poll();
    m_poller              = nullptr;
    return events;
}

void Fabric::file_message(Member &member, Peer &peer, const Mail &mail)
{
    Mail filed = mail;
    if (!mail.keep && &member != m_poller) {
        // Its buffer is needed, and there is no telling when this member comes by.
        if (void *copy = std::malloc(std::max<std::size_t>(mail.length, 1));
            copy != nullptr) {
            std::copy_n(static_cast<const std::byte *>(mail.object), mail.length,
                        static_cast<std::byte *>(copy));
            m_receives.release_payload(mail.object);
            filed.kind   = Mail::Kind::copy;
            filed.object = copy;
        }
    }
    member.post(filed);
    check_backlog(member, peer);
}

void Fabric::take_back(std::vector<void *> &payloads,
                       std::vector<BulkOperation *> &operations, std::uint64_t kept,
                       std::uint64_t copied) noexcept
{
    m_counters.receives_kept += kept;
    m_counters.receives_copied += copied;
    if (!operations.empty()) {
        for (BulkOperation *operation : operations) {
            (void)m_staging.put(operation->staging);
            m_operations.put(operation);
        }
        operations.clear();
    }
    if (!payloads.empty()) {
        for (void *payload : payloads) {
            m_receives.release_payload(payload);
        }
        payloads.clear();
        if (m_receives.batch_due()) {
            refill_receives();
        }
    }
}

// Those who sleep and were refused.
void Fabric::wake_waiting(Peer &peer)
{
    for (const auto &[key, link] : peer.links) {
        if (link->waiting) {
            link->member.wake();
        }
    }
}

void Fabric::wake_all() noexcept
{
    for (Member *member : m_members) {
        if (member != nullptr) {
            member->wake();
        }
    }
}

// What was refused to that link may be possible by now.
bool Fabric::worth_a_try(const Link &link) const noexcept
{
    return link.refused_at != (link.short_of ? m_freed : link.peer.freed);
}

be_status_t Fabric::arm_for_many()
{
    if (m_inbox.pending()) {
        return BE_ERR_BUSY;
    }
    if (!fall_asleep()) {
        return BE_ERR_IO;
    }
    // What came in between would raise no event. It may be for others, and there may be more of it.
    if (poll_receives() + poll_sends() != 0) {
        return BE_ERR_BUSY;
    }
    if (m_crowded && !m_waker) {
        try {
            m_waker.emplace(descriptors(), [this] { return look_after_sleepers(); });
        } catch (const std::exception &error) {
            log(BE_LOG_ERROR, "no thread to wake up interfaces: {}", error.what());
            return BE_ERR_IO;
        }
    }
    return BE_OK;
}

// Called by the waker. True: look again soon, because somebody who is awake polls, and each message would raise
// an event for nothing.
bool Fabric::look_after_sleepers()
{
    const std::lock_guard lock(m_lock);
    const bool polled = std::exchange(m_polls_seen, m_polls) != m_polls;
    (void)m_channel.acknowledge();
    m_timer.set(~std::uint64_t{0});
    (void)poll();
    for (unsigned round = 0; m_sleepers != 0; ++round) {
        if ((polled && m_sleepers < m_member_count) || round == looks_in_a_row) {
            return true;
        }
        const be_status_t status = arm_for_many();
        if (status != BE_ERR_BUSY) {
            return false;
        }
        (void)poll();
    }
    return false;
}

} // namespace be::engine
