// SPDX-License-Identifier: BSD-3-Clause
//
// One connection as a worker sees it: the base of a channel's and a server's side.
//
// All of it belongs to the holder of the worker's lock.
#pragma once

#include "adapter/exchange/link.hpp"
#include "adapter/wire.hpp"

#include <byteexpress/body.hpp>

#include <memory>
#include <string>

#include <ucp/api/ucp.h>

namespace be::adapter {

class Worker;

// A message whose header was decoded. The data is in memory, or still with the sender
// (rendezvous), when Worker::receive() fetches it; a message that is neither taken nor
// fetched is dropped.
struct Incoming {
    wire::Header header;
    void *data    = nullptr;
    size_t length = 0; // bytes of the body
    bool remote   = false; // data is a descriptor for Worker::receive()
    bool keepable = false; // data may be kept until ucp_am_data_release()
    bool taken    = false; // set by whoever keeps data or has begun to receive it
};

// What lives on a worker and has to know when the runtime ends.
class Resident {
public:
    virtual ~Resident() = default;

    // Under the worker's lock. It stays registered until it leaves by itself.
    virtual void on_stop() = 0;
};

class Endpoint : public std::enable_shared_from_this<Endpoint> {
public:
    explicit Endpoint(Worker &worker) noexcept : m_worker(worker)
    {
    }
    virtual ~Endpoint()                   = default;
    Endpoint(const Endpoint &)            = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    // Returns why the message breaks the protocol, which fails the connection, or
    // nullptr.
    virtual const char *on_message(Incoming &message) = 0;

    // Once; no message comes any more.
    virtual void on_failure(const std::string &why) = 0;

    // Once, after a failure and after close(): nothing is under way any more.
    virtual void on_closed()
    {
    }

    Worker &worker() const noexcept
    {
        return m_worker;
    }

    // From enrolling until it has failed or is being closed.
    bool is_open() const noexcept
    {
        return m_open;
    }

    // The numbers of this connection: ours, which messages to us carry, and the peer's.
    uint64_t number() const noexcept
    {
        return m_number;
    }
    uint64_t peer() const noexcept
    {
        return m_peer;
    }

    // The TCP connection, which is closed together with it.
    std::shared_ptr<exchange::Link> link;

private:
    friend class Worker;

    Worker &m_worker;
    ucp_ep_h m_ep     = nullptr; // set by connecting
    bool m_open       = false;
    uint64_t m_number = 0;
    uint64_t m_peer   = 0;
};

// A message on its way out. Its owner keeps it alive until `done` was called.
struct Outgoing {
    using Done = void (*)(Outgoing &, ucs_status_t);

    explicit Outgoing(Done function) noexcept : done(function)
    {
    }

    Done done;
    Body body;

    void encode(const wire::Header &values)
    {
        const size_t size = wire::size_of(values);
        if (size > m_short.size()) {
            m_long = std::make_unique_for_overwrite<std::byte[]>(size);
        }
        m_header = {(size > m_short.size()) ? m_long.get() : m_short.data(), size};
        wire::encode(values, m_header);
    }

    std::span<const std::byte> header() const noexcept
    {
        return m_header;
    }

private:
    // Most texts are short; what is allocated with each call should be, too.
    std::array<std::byte, 128> m_short;
    std::unique_ptr<std::byte[]> m_long;
    std::span<std::byte> m_header;
};

} // namespace be::adapter
