// SPDX-License-Identifier: BSD-3-Clause
//
// One interface of the upper layer on a fabric: its id, its callbacks, its mailbox and its sleep.
//
// A member that owns its fabric gets messages and completions by direct call from inside poll(). One that shares it
// gets them as mail, since whoever polls may be somebody else's thread and holds the lock; its own progress() opens
// the mail without the lock. What mail refers to (receive buffers, operations) goes back to the fabric in batches,
// whenever this member has the lock anyway.
//
// Threads: the worker's, one at a time. The functions that say so belong to whoever holds the fabric's lock.

#pragma once

#include "engine/c_api.h"
#include "engine/fabric.hpp"
#include "engine/mailbox.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

struct be_fabric {};

namespace be::engine {

class Member : public ::be_fabric {
public:
    // Throws std::system_error, std::runtime_error, std::bad_alloc.
    Member(std::shared_ptr<Fabric> fabric, const be_fabric_callbacks_t &callbacks);
    // Waits for its operations under way, see Fabric::leave().
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

    // How much happened. Whoever was told something in it, or since the last call, never gets 0: he would go to sleep
    // over what he has just been told.
    unsigned progress();
    int event_fd() const noexcept;
    be_status_t arm();
    // The descriptor is readable until the next arm().
    void signal();
    void release_payload(void *payload) noexcept;

    // ---- With the fabric's lock: what arrives

    be_rx_result_t
    deliver(std::uint8_t am_id, void *payload, std::size_t length, bool keep)
    {
        ++m_told;
        return m_callbacks.am(m_callbacks.arg, am_id, payload, length, keep);
    }

    void complete(void *completion, be_status_t status)
    {
        if (completion == nullptr) {
            return;
        }
        if (m_shares) {
            post({.kind = Mail::Kind::completion, .status = status, .object = completion});
        } else {
            ++m_told;
            m_callbacks.complete(m_callbacks.arg, completion, status);
        }
    }

    void unpack(const BulkOperation &operation)
    {
        m_callbacks.unpack(m_callbacks.arg, operation.unpack_func, operation.unpack_arg,
                           operation.staging, operation.unpack_length);
    }

    void post(const Mail &mail)
    {
        m_mail.push(mail);
        wake();
    }

    // ---- With the fabric's lock: the rest

    std::uint64_t backlog() const noexcept
    {
        return m_mail.size();
    }

    // It was refused something: this member is to be woken when it is worth a try.
    void wait_for(Link &link)
    {
        m_waiting.push_back(&link);
    }

    // The link goes.
    void forget(const Link &link) noexcept;

    // The peer has been told not to send; it is to be told when this member has caught up.
    void hold(Peer &peer);
    void forget(const Peer &peer) noexcept;

    // Rings, if the member sleeps.
    void wake() noexcept
    {
        if (m_asleep) [[unlikely]] {
            ring();
        }
    }

    bool sleeps() const noexcept
    {
        return m_asleep;
    }

    // The fabric's descriptors are another's business from now on.
    void stop_watching() noexcept;
    // Throws away the mail of a member that leaves.
    void drop_mail() noexcept;

    std::uint32_t zero_copies = 0; // messages from the user's memory that are not complete

private:
    void open_event_fd();
    void close_event_fd() noexcept;
    void watch(int fd);
    void ring() noexcept;
    void stay_awake() noexcept;
    unsigned told() noexcept;
    bool worth_a_try() noexcept;
    unsigned open_mail();
    void open(const Mail &mail);
    void report(Link &link, be_status_t status);
    void give_back() noexcept;
    void catch_up();

    const std::shared_ptr<Fabric> m_fabric;
    const be_fabric_callbacks_t m_callbacks;
    const bool m_shares;
    unsigned m_told         = 0; // calls of the upper layer from inside the fabric
    unsigned m_told_counted = 0; // ... and those that a progress() has counted
    std::uint16_t m_id      = 0;
    unsigned m_idle_calls   = 0; // of progress()

    // Of the worker: to be given back
    std::vector<void *> m_payloads;
    std::vector<BulkOperation *> m_operations;
    std::uint64_t m_kept   = 0; // receives
    std::uint64_t m_copied = 0;
    bool m_try_again       = false; // arm() found that what was refused may be possible

    Mailbox m_mail;

    // With the fabric's lock
    int m_epoll   = -1;
    int m_bell    = -1; // an eventfd, readable after ring()
    bool m_asleep = false;
    bool m_rung   = false;
    std::vector<Link *> m_waiting; // those with Link::waiting
    std::vector<Peer *> m_held;
    std::atomic<bool> m_holds{false}; // m_held is not empty
};

} // namespace be::engine
