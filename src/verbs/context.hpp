// SPDX-License-Identifier: BSD-3-Clause
//
// An open device, and its asynchronous events.
#pragma once

#include "verbs/handle.hpp"

#include <optional>
#include <string>

namespace be::verbs {

class Context {
public:
    // Throws Error: no such device (the text lists those there are), or it cannot be
    // opened.
    Context(const Table &table, const std::string &device);

    ibv_context *get() const noexcept
    {
        return m_handle.get();
    }

    const Table &table() const noexcept
    {
        return m_handle.table();
    }

    const std::string &device() const noexcept
    {
        return m_device;
    }

    bool soft() const noexcept
    {
        return table().soft;
    }

    // As read when the device was opened.
    const ibv_device_attr &attributes() const noexcept
    {
        return m_attributes;
    }

    // As it is now. Throws Error.
    ibv_port_attr port(uint8_t port) const;

private:
    Handle<ibv_context, &Table::close_device> m_handle;
    std::string m_device;
    ibv_device_attr m_attributes = {};
};

struct AsyncEvent {
    enum class Subject {
        device,
        port,
        queue_pair,
        completion_queue,
        shared_receive_queue
    };

    // What it means to who uses the device.
    enum class Kind {
        queue_pair_failed, // in the error state: `qpn`
        port_down, // `port`
        port_up, // `port`
        device_failed, // nothing on it works any more
        other
    };

    ibv_event_type type;
    Kind kind;
    Subject subject;
    uint8_t port; // Subject::port
    uint32_t qpn; // Subject::queue_pair
    const void *object; // ibv_qp *, ibv_cq * or ibv_srq *: to compare, not to use
    const char *text; // `type` in words
};

// Reads a context's events without waiting. One reader a context; the context outlives
// it. Threads: one at a time, any; what destroys the objects that the events are about
// need not be that one, since no event is left unacknowledged.
class AsyncEvents {
public:
    // Makes the context's event descriptor non-blocking. Throws Error.
    explicit AsyncEvents(const Context &context);

    // Readable when there is an event.
    int fd() const noexcept;

    // The next event, already acknowledged; none: nothing is there.
    std::optional<AsyncEvent> next() noexcept;

private:
    const Table *m_table;
    ibv_context *m_context;
};

// "port down" and so on; never null.
const char *to_string(ibv_event_type type) noexcept;

// The name of the device `context` is open on; never null.
const char *device_name(const Table &table, const ibv_context *context) noexcept;

} // namespace be::verbs
