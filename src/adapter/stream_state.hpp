// SPDX-License-Identifier: BSD-3-Clause
//
// One side of a stream, between its user and its connection.
//
// The mutex of a stream may be taken under the worker's lock, never the other way round:
// nothing is posted, and nobody is told, with it held.
#pragma once

#include "adapter/completion.hpp"
#include "adapter/endpoint.hpp"
#include "adapter/part_window.hpp"
#include "adapter/posted.hpp"

#include <byteexpress/stream.hpp>

#include <functional>
#include <mutex>
#include <string>

namespace be::adapter {

// A read or write that waits.
class StreamOperation :
    public Completion,
    public std::enable_shared_from_this<StreamOperation> {
public:
    using Callback = std::function<void(Part)>;

    explicit StreamOperation(Callback callback) : m_callback(std::move(callback))
    {
    }

    // From now on it lives until it is completed.
    void keep()
    {
        m_kept = shared_from_this();
    }

    Part part; // of a write, until it is done: what to write

private:
    bool has_callback() const noexcept override
    {
        return m_callback != nullptr;
    }
    void run_callback() override
    {
        std::exchange(m_callback, nullptr)(std::move(part));
    }

    Callback m_callback;
};

// The call that a stream belongs to. Under the worker's lock.
class StreamOwner {
public:
    // A part is there.
    virtual void on_part() = 0;

    // Ends the call: a part is larger than it may be.
    virtual void on_too_large(const std::string &text) = 0;

    // The user has dropped it; `finished`: after finish().
    virtual void on_dropped(bool finished) = 0;

protected:
    ~StreamOwner() = default;
};

// @throws Error naming the option.
void check(const StreamOptions &options);

class StreamState : public std::enable_shared_from_this<StreamState> {
public:
    // The owner is valid until end().
    StreamState(std::shared_ptr<Worker> worker, StreamOwner &owner,
                const StreamOptions &options);
    ~StreamState();

    // The user's side, any thread. See Stream.
    using Operation = std::shared_ptr<StreamOperation>;
    Operation start_read(StreamOperation::Callback callback);
    Operation start_write(Body part, StreamOperation::Callback callback);
    Part try_read();
    Status try_write(Body part);
    Part wait(StreamOperation &operation);
    Status finish();
    void drop();

    // Any thread: the other side may send parts.
    void grant();

    //
    // Under the worker's lock
    //

    // Where parts go; `credit`: that the other side has given. `told`: it knows ours.
    void
    bind(std::shared_ptr<Endpoint> endpoint, uint64_t id, uint64_t credit, bool told);

    // Of the connection. Why the message breaks the protocol, or nullptr.
    const char *on_part(Incoming &message);
    const char *on_credit(uint64_t credit);
    const char *set_total(uint64_t parts);

    // The other side has begun to serve it.
    bool begun();
    // Whatever it sends has come.
    bool complete();
    // Parts that were written altogether.
    uint64_t written();

    // Once; what comes later is ignored.
    void end(Status status);

    const StreamOptions options;

private:
    struct Message : Posted, Outgoing {
        Message(Run run, Done done) : Posted(run), Outgoing(done)
        {
        }
        StreamState *stream = nullptr;
        std::shared_ptr<StreamState> self; // while it is out
        uint64_t value = 0;
    };
    struct PartMessage : Message {
        PartMessage() : Message(&send_part, &sent_part)
        {
        }
    };
    struct CreditMessage : Message {
        CreditMessage() : Message(&send_credit, &sent_credit)
        {
        }
    };
    struct LastMessage : Message {
        LastMessage() : Message(&send_last, &sent_last)
        {
        }
    };

    static void send_part(Posted &item);
    static void sent_part(Outgoing &out, ucs_status_t status);
    static void send_credit(Posted &item);
    static void sent_credit(Outgoing &out, ucs_status_t status);
    static void send_last(Posted &item);
    static void sent_last(Outgoing &out, ucs_status_t status);

    // With the mutex held.
    Part take();
    Status put(Body &part, Message *&out);
    Message *due_credit();
    Message *due_last();

    void check(const Body &part) const;
    void post(Message *first, Message *second = nullptr);
    void send(Message &out, wire::Kind kind, uint8_t flags);
    void advance();
    void arrived(uint64_t number, Body body, ucs_status_t status);

    const std::shared_ptr<Worker> m_worker;

    // under the worker's lock
    StreamOwner *m_owner;
    std::shared_ptr<Endpoint> m_endpoint;
    uint64_t m_id = 0;

    std::mutex m_mutex;
    PartWindow m_window;
    std::vector<PartMessage> m_out;
    CreditMessage m_credit_message;
    LastMessage m_last_message;
    uint64_t m_written = 0; // parts
    uint64_t m_allowed = 0; // parts that the other side takes altogether
    bool m_granted     = false; // may send credit
    bool m_finished    = false;
    bool m_last_sent   = false;
    bool m_dropped     = false; // nobody reads
    bool m_ended       = false;
    Status m_status    = Status::ok; // once it has ended
    Operation m_reader; // waits
    Operation m_writer;
};

} // namespace be::adapter
