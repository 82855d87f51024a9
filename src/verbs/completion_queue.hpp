// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queue and completion channel.
//
// Sleeping: arm(), then poll once more, then wait for the channel's descriptor; after
// waking acknowledge() and arm() again before polling.
// Threads: a queue and its channel belong to one thread at a time.
#pragma once

#include "verbs/context.hpp"

#include <span>

namespace be::verbs {

class CompletionChannel {
public:
    // The descriptor is non-blocking. Throws Error.
    explicit CompletionChannel(const Context &context);

    ibv_comp_channel *get() const noexcept
    {
        return m_handle.get();
    }

    int fd() const noexcept
    {
        return m_handle->fd;
    }

    // Takes and acknowledges every event that is there; returns how many.
    unsigned acknowledge() noexcept;

private:
    Handle<ibv_comp_channel, &Table::destroy_comp_channel> m_handle;
};

class CompletionQueue {
public:
    // `entries`: at least; the device may give more. `channel` may be null. Throws Error.
    CompletionQueue(const Context &context, unsigned entries,
                    const CompletionChannel *channel = nullptr);

    ibv_cq *get() const noexcept
    {
        return m_handle.get();
    }

    unsigned entries() const noexcept
    {
        return static_cast<unsigned>(m_handle->cqe);
    }

    // From now on poll() does not give the processor away: the caller holds a lock that others spin for.
    void never_yield() noexcept
    {
        if (m_set_yield != nullptr) {
            (void)m_set_yield(m_handle.get(), 0);
        }
    }

    // How many completions were stored (0: none), or -1: the queue itself failed
    // (overrun).
    int poll(std::span<ibv_wc> completions) noexcept
    {
        ibv_cq *cq = m_handle.get();
        return cq->context->ops.poll_cq(cq, static_cast<int>(completions.size()),
                                        completions.data());
    }

    // The next completion makes the channel readable. 0 or an errno value.
    int arm(bool solicited_only = false) noexcept
    {
        ibv_cq *cq = m_handle.get();
        return cq->context->ops.req_notify_cq(cq, solicited_only ? 1 : 0);
    }

private:
    Handle<ibv_cq, &Table::destroy_cq> m_handle;
    int (*m_set_yield)(ibv_cq *cq, uint32_t polls); // null: it never does
};

// "RNR retry counter exceeded" and so on; never null.
const char *to_string(ibv_wc_status status) noexcept;

} // namespace be::verbs
