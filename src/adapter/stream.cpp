// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/stream.hpp>

#include "adapter/stream_state.hpp"

#include <utility>

namespace be {

StreamWait::StreamWait(std::shared_ptr<adapter::StreamOperation> operation) noexcept :
    m_operation(std::move(operation))
{
}

StreamWait::StreamWait(StreamWait &&) noexcept = default;
StreamWait::~StreamWait()                      = default;

bool StreamWait::await_ready() const noexcept
{
    return m_operation->ready();
}

bool StreamWait::await_suspend(std::coroutine_handle<> handle) const
{
    return m_operation->on_done(handle);
}

Part StreamWait::take()
{
    return std::move(m_operation->part);
}

Stream::Stream(std::shared_ptr<adapter::StreamState> state) noexcept :
    m_state(std::move(state))
{
}

Stream::Stream(Stream &&) noexcept = default;

Stream &Stream::operator=(Stream &&other) noexcept
{
    if (this != &other) {
        const Stream old(std::move(*this));
        m_state = std::move(other.m_state);
    }
    return *this;
}

Stream::~Stream()
{
    if (m_state != nullptr) {
        m_state->drop();
    }
}

Part Stream::read()
{
    Part part = m_state->try_read();

    if (part.status == Status::would_block) {
        part = m_state->wait(*m_state->start_read({}));
    }
    return part;
}

Part Stream::try_read()
{
    return m_state->try_read();
}

StreamRead Stream::start_read()
{
    return StreamRead(m_state->start_read({}));
}

void Stream::start_read(std::function<void(Part)> callback)
{
    m_state->start_read(std::move(callback));
}

Status Stream::write(Body part)
{
    const Status status = m_state->try_write(part);

    if (status != Status::would_block) {
        return status;
    }
    return m_state->wait(*m_state->start_write(std::move(part), {})).status;
}

Status Stream::try_write(const Body &part)
{
    return m_state->try_write(part);
}

StreamWrite Stream::start_write(Body part)
{
    return StreamWrite(m_state->start_write(std::move(part), {}));
}

void Stream::start_write(Body part, std::function<void(Status)> callback)
{
    m_state->start_write(std::move(part), [callback = std::move(callback)](Part done) {
        callback(done.status);
    });
}

Status Stream::finish()
{
    return m_state->finish();
}

} // namespace be
