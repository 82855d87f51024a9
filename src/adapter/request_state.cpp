// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/request_state.hpp"

#include "adapter/server_connection.hpp"
#include "adapter/server_state.hpp"
#include "adapter/worker.hpp"

#include <utility>

namespace be::adapter {

RequestState::RequestState(std::shared_ptr<ServerConnection> owner, const Method &what,
                           uint64_t number, Clock::time_point until) :
    connection(std::move(owner)),
    method(what),
    id(number),
    deadline(until),
    m_answer(
            *this, [](Posted &item) { static_cast<Answer &>(item).request.send(); },
            [](Outgoing &out, ucs_status_t) {
                auto &answer = static_cast<Answer &>(out);
                out.body     = Body();
                answer.request.finish();
                // may be the last reference to the request
                const auto keep = std::move(answer.self);
            }),
    m_stream_deadline(*this, [](Timer &timer) {
        static_cast<StreamTimer &>(timer).request.end_stream(Status::deadline_exceeded);
    })
{
}

RequestState::~RequestState()
{
    finish();
}

// Not only in the destructor: a handler may keep its Request as long as it likes.
void RequestState::finish() noexcept
{
    if (!m_finished.exchange(true)) {
        connection->server().finished_one();
    }
}

void RequestState::run(std::shared_ptr<RequestState> request, Clock::time_point now)
{
    ServerState &server = request->connection->server();
    RequestState &self  = *request;

    if (self.canceled.load(std::memory_order_relaxed)) {
        server.counters.canceled.fetch_add(1, std::memory_order_relaxed);
        self.answer(Status::canceled, "canceled before it ran", 0, {});
        return;
    }
    if (self.deadline <= now) {
        server.counters.late.fetch_add(1, std::memory_order_relaxed);
        self.answer(Status::deadline_exceeded,
                    "the deadline passed before the handler was run", 0, {});
        return;
    }
    server.counters.requests.fetch_add(1, std::memory_order_relaxed);
    self.connection->worker().counters.requests.add();
    try {
        if (self.m_stream != nullptr) {
            self.m_stream->grant();
            self.method.stream_handler(Request(request), Stream(self.m_stream),
                                       Responder(request));
        } else {
            self.method.handler(Request(request), Responder(request));
        }
    } catch (const std::exception &error) {
        // The responder, gone with the handler's arguments, has answered.
        server.note_exception(self.method.name, error.what());
    }
}

void RequestState::open_stream(uint32_t parts)
{
    Worker &worker = connection->worker();

    m_stream = std::make_shared<StreamState>(worker.shared_from_this(), *this,
                                             method.stream);
    m_stream->bind(connection, id, parts, false);
    worker.timers.add(m_stream_deadline, deadline);
}

void RequestState::end_stream(Status status)
{
    if (m_stream != nullptr) {
        m_stream_deadline.clear();
        m_stream->end(status);
    }
}

void RequestState::cancel(Status why)
{
    canceled.store(true, std::memory_order_relaxed);
    end_stream(why);
}

void RequestState::on_too_large(const std::string &text)
{
    end_stream(Status::too_large);
    answer(Status::too_large, text, 0, {});
}

void RequestState::answer(Status status, const std::string &text, uint32_t code,
                          Body what)
{
    if (m_answered.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    m_text        = text;
    m_header      = {.kind   = wire::Kind::response,
                     .status = status,
                     .id     = id,
                     .code   = code,
                     .text   = m_text};
    body          = Body();
    m_answer.body = std::move(what);
    m_answer.self = shared_from_this();
    connection->worker().post(m_answer);
}

// Under the lock.
void RequestState::send()
{
    if (connection->forget(*this)) {
        m_header.connection = connection->peer();
        m_header.value      = (m_stream != nullptr) ? m_stream->written() : 0;
        m_answer.encode(m_header);
        connection->worker().send(*connection, m_answer);
    } else {
        m_answer.done(m_answer, UCS_ERR_CANCELED);
    }
}

} // namespace be::adapter
