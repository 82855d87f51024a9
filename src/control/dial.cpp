// SPDX-License-Identifier: BSD-3-Clause

#include "control/dial.hpp"

#include <sodium.h>

#include <algorithm>
#include <exception>
#include <system_error>

namespace be::control {

namespace {

Dial::Clock::duration shortened_at_random(Dial::Clock::duration pause)
{
    auto half = static_cast<std::uint32_t>(pause.count() / 2);
    return pause - Dial::Clock::duration(randombytes_uniform(half + 1));
}

} // namespace

Dial::Dial(Owner &owner, LiveCounters &counters, asio::io_context &context,
           Request request, Clock::duration patience) :
    m_owner(owner),
    m_counters(counters),
    m_context(context),
    m_request(std::move(request)),
    m_deadline(Clock::now() + patience),
    m_pause(m_request.probe ? first_probe_pause : first_pause),
    m_timer(context)
{
}

template<class Handler>
void Dial::guarded(Handler &&handler) noexcept
{
    try {
        if (!m_cancelled) {
            handler();
        }
    } catch (const std::exception &error) {
        report(Reason::resources, error.what());
    }
}

void Dial::report(Reason reason, const std::string &detail)
{
    cancel();
    m_owner.on_dial_failed(*this, reason, detail);
}

void Dial::attempt()
{
    auto self = shared_from_this();

    LiveCounters::add(m_counters.dialed);
    try {
        auto endpoint = to_endpoint(m_request.address);
        m_socket      = Socket::open(m_context, endpoint.protocol());
        m_timer.expires_at(m_deadline);
        m_timer.async_wait([self](const ErrorCode &error) {
            if (!error) {
                self->guarded([&] { self->on_time_up(); });
            }
        });
        m_socket->stream().async_connect(endpoint, [self](const ErrorCode &error) {
            self->guarded([&] { self->on_connected(error); });
        });
    } catch (const std::exception &error) {
        asio::post(m_context, [self, text = std::string(error.what())] {
            self->guarded([&] { self->report(Reason::resources, text); });
        });
    }
}

void Dial::on_time_up()
{
    // The connection may have come at the same moment, and been handed over.
    if (m_socket) {
        report(Reason::unreachable, "TCP connection not established in time");
    }
}

void Dial::on_connected(const ErrorCode &error)
{
    ErrorCode ignored;
    m_timer.cancel(ignored);

    bool to_itself   = !error && m_socket->is_connected_to_itself();
    m_nobody_listens = to_itself || (error == asio::error::connection_refused);
    if (error) {
        report(Reason::unreachable, "TCP connect: " + error.message());
    } else if (to_itself) {
        report(Reason::unreachable, "TCP connect: nobody listens there");
    } else {
        m_owner.on_connected(*this, std::move(m_socket));
    }
}

bool Dial::again()
{
    auto start = Clock::now() + shortened_at_random(m_pause);
    if (start >= m_deadline) {
        return false;
    }

    m_pause = std::min<Clock::duration>(2 * m_pause, longest_pause);
    m_timer.expires_at(start);
    m_timer.async_wait([self = shared_from_this()](const ErrorCode &error) {
        if (!error) {
            self->guarded([&] { self->attempt(); });
        }
    });
    return true;
}

void Dial::cancel() noexcept
{
    m_cancelled = true;
    m_socket.reset();
    ErrorCode ignored;
    m_timer.cancel(ignored);
}

} // namespace be::control
