// SPDX-License-Identifier: BSD-3-Clause
//
// One request on the server, from its arrival until its answer is delivered.
#pragma once

#include "adapter/endpoint.hpp"
#include "adapter/posted.hpp"
#include "adapter/stream_state.hpp"
#include "adapter/timer_wheel.hpp"

#include <byteexpress/server.hpp>

#include <atomic>

namespace be::adapter {

class ServerConnection;
class ServerState;

struct Method {
    std::string name;
    Server::AsyncHandler handler;
    Server::AsyncStreamHandler stream_handler; // of a method that is a stream
    StreamOptions stream;

    bool is_stream() const noexcept
    {
        return stream_handler != nullptr;
    }
};

class RequestState final :
    public StreamOwner,
    public std::enable_shared_from_this<RequestState> {
public:
    RequestState(std::shared_ptr<ServerConnection> connection, const Method &method,
                 uint64_t id, Clock::time_point deadline);
    ~RequestState();
    RequestState(const RequestState &)            = delete;
    RequestState &operator=(const RequestState &) = delete;

    // On the worker's thread, without the lock: the handler, or why not.
    static void run(std::shared_ptr<RequestState> request, Clock::time_point now);

    // Any thread, once (later answers are dropped). Without the lock.
    void answer(Status status, const std::string &text, uint32_t code, Body body);

    // Under the lock, once, before it runs: the client takes so many parts.
    void open_stream(uint32_t parts);

    // Under the lock: whoever has a part in it hears how the stream ended; no stream, nothing.
    void end_stream(Status status);

    // Under the lock: nobody waits for the answer, and that is why.
    void cancel(Status why);

    // Null: it is none.
    const std::shared_ptr<StreamState> &stream() const noexcept
    {
        return m_stream;
    }

    const std::shared_ptr<ServerConnection> connection;
    const Method &method; // lives as long as the server
    const uint64_t id;
    const Clock::time_point deadline;
    Body body;
    std::atomic<bool> canceled = false;

private:
    struct Answer : Posted, Outgoing {
        Answer(RequestState &owner, Run run, Done done) :
            Posted(run), Outgoing(done), request(owner)
        {
        }
        RequestState &request;
        std::shared_ptr<RequestState> self; // until it is sent
    };
    struct StreamTimer : Timer {
        StreamTimer(RequestState &owner, Fire fire) : Timer(fire), request(owner)
        {
        }
        RequestState &request;
    };

    void on_part() override
    {
    }
    void on_too_large(const std::string &text) override;
    void on_dropped(bool) override
    {
    }
    void send();
    void finish() noexcept;

    std::atomic<bool> m_answered = false;
    std::atomic<bool> m_finished = false;
    wire::Header m_header;
    std::string m_text;
    Answer m_answer;
    std::shared_ptr<StreamState> m_stream;
    StreamTimer m_stream_deadline;
};

} // namespace be::adapter
