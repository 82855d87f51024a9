// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/connection.hpp"

#include "adapter/address.hpp"
#include "adapter/block_pool.hpp"
#include "adapter/call_state.hpp"
#include "adapter/channel_state.hpp"
#include "adapter/notice.hpp"
#include "adapter/worker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace be::adapter {

namespace {

uint64_t microseconds_left(Clock::time_point deadline, Clock::time_point now)
{
    if (deadline == Clock::time_point::max()) {
        return 0; // for ever
    }
    const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline - now);
    return static_cast<uint64_t>(std::max<int64_t>(left.count(), 1));
}

} // namespace

Connection::Connection(std::shared_ptr<ChannelState> channel, size_t address) :
    Endpoint(channel->worker()),
    m_channel(std::move(channel)),
    m_address(address),
    m_timer(*this, [](Timer &timer) {
        Connection &self = static_cast<ConnectTimer &>(timer).connection;
        self.worker().fail(
                self, "no answer within " +
                              std::to_string(
                                      self.m_channel->options().connect_timeout.count()) +
                              " ms");
    })
{
}

std::string Connection::open()
{
    const auto self = std::static_pointer_cast<Connection>(shared_from_this());

    if (!worker().enroll(self)) {
        return "the runtime is closed";
    }
    worker().timers.add(m_timer, Clock::now() + m_channel->options().connect_timeout);
    m_dialer = std::make_shared<exchange::Dialer>(worker().loop(), worker().secret(),
                                                  number(), worker().address());
    link     = m_dialer;
    exchange::Dialer::Events events;
    events.down    = worker().link_down(self);
    events.welcome = [on   = worker().shared_from_this(),
                      weak = std::weak_ptr(self)](const exchange::Message &welcome,
                                                  uint32_t features) {
        // UCP reads the address where it is: in memory of its own, aligned
        on->hand_over([weak, welcome, features,
                       address = std::vector<std::byte>(welcome.address.begin(),
                                                        welcome.address.end())] {
            if (const auto connection = weak.lock()) {
                connection->on_welcome(welcome, address, features);
            }
        });
    };
    m_dialer->start(m_channel->address(m_address), std::move(events));
    return {};
}

void Connection::on_welcome(const exchange::Message &welcome,
                            std::span<const std::byte> address, uint32_t features)
{
    if (!is_open() || m_draining) {
        return;
    }
    const uint32_t made = worker().turns(address);
    if (made > welcome.turn) { // others have connected meanwhile
        m_dialer->ask_again(made);
        return;
    }
    const std::string why = worker().connect(*this, address, welcome.connection,
                                             welcome.turn);
    if (!why.empty()) {
        worker().fail(*this, why);
        return;
    }
    m_timer.clear();
    m_ready       = true;
    m_incarnation = welcome.incarnation;
    m_features    = features;
    m_limit       = std::min<size_t>(welcome.window, m_channel->options().max_in_flight);
    m_channel->on_ready(*this);
}

void Connection::send(CallState &call, Clock::time_point now)
{
    const bool streams = call.stream != nullptr;
    if (streams && ((m_features & exchange::feature_streams) == 0)) {
        m_channel->end(call, Status::no_such_method,
                       m_channel->options().addresses[m_address] +
                               ": a server of a version that has no streams");
        return;
    }
    uint32_t slot = 0;
    if (m_free.empty()) {
        slot = static_cast<uint32_t>(m_slots.size());
        m_slots.emplace_back();
    } else {
        slot = m_free.back();
        m_free.pop_back();
    }
    const bool bulk    = call.options.priority == Priority::bulk;
    m_slots[slot].call = &call;
    m_slots[slot].uses++;
    m_calls++;
    m_bulk += bulk;
    call.id         = (uint64_t{m_slots[slot].uses} << 32) | slot;
    call.connection = std::static_pointer_cast<Connection>(shared_from_this());
    call.stage      = Stage::sent;
    call.reply.attempts++;
    call.reply.incarnation = m_incarnation;
    call.out.encode({.kind       = wire::Kind::request,
                     .flags      = static_cast<uint8_t>((bulk ? wire::flag_bulk : 0) |
                                                   (streams ? wire::flag_stream : 0)),
                     .connection = peer(),
                     .id         = call.id,
                     .value      = microseconds_left(call.deadline, now),
                     .code       = streams ? call.stream->options.parts : 0,
                     .text       = call.method});
    if (streams) {
        call.stream->bind(call.connection, call.id, 0, true);
    }
    call.sending = true;
    worker().send(*this, call.out);
    if (call.sending) {
        call.self_sending = call.shared_from_this();
    }
}

void Connection::remove(CallState &call, bool tell)
{
    // `call` may hold the last reference
    const auto keep    = std::move(call.connection);
    const auto slot    = static_cast<uint32_t>(call.id);
    m_slots[slot].call = nullptr;
    m_free.push_back(slot);
    m_calls--;
    m_bulk -= call.options.priority == Priority::bulk;
    if (tell) {
        send_notice(*this, {.kind = wire::Kind::cancel, .id = call.id});
    }
    if (m_draining && (m_calls == 0)) {
        worker().close(*this);
    }
}

CallState *Connection::find(uint64_t id) const noexcept
{
    const auto slot = static_cast<uint32_t>(id);
    if ((slot >= m_slots.size()) || (m_slots[slot].uses != id >> 32)) {
        return nullptr;
    }
    return m_slots[slot].call;
}

const char *Connection::on_message(Incoming &message)
{
    switch (message.header.kind) {
    case wire::Kind::response:
        return m_ready ? on_response(message) : "a response before the welcome";
    case wire::Kind::part:
    case wire::Kind::credit:
        return on_stream_message(message);
    case wire::Kind::goodbye:
        drain();
        return nullptr;
    default:
        return "a message that only clients send";
    }
}

void Connection::drain()
{
    if (m_draining) {
        return;
    }
    m_draining = true;
    m_timer.clear();
    m_channel->on_draining(*this);
    if (m_calls == 0) {
        worker().close(*this);
    }
}

const char *Connection::on_stream_message(Incoming &message)
{
    const CallState *call = find(message.header.id);

    if (call == nullptr) {
        return nullptr; // has ended meanwhile
    }
    if (call->stream == nullptr) {
        return "a part, or credit, for a call that is no stream";
    }
    const auto stream = call->stream;
    return (message.header.kind == wire::Kind::part) ?
                   stream->on_part(message) :
                   stream->on_credit(message.header.value);
}

const char *Connection::on_response(Incoming &message)
{
    CallState *call = find(message.header.id);

    if (call == nullptr) {
        return nullptr; // has ended meanwhile: deadline or cancellation
    }
    if (call->receiving || call->answered) {
        return "a second response to one request";
    }
    m_channel->on_answer(*this);
    const wire::Header &header = message.header;
    if (header.status == Status::ok) {
        if (call->stream != nullptr) {
            const auto stream = call->stream;
            if (const char *why = stream->set_total(header.value)) {
                return why;
            }
        }
        place_body(*call, message);
        return nullptr;
    }
    call->reply.code = header.code;
    m_channel->on_refusal(*call, header.status, std::string(header.text));
    return nullptr;
}

void Connection::place_body(CallState &call, Incoming &message)
{
    const std::span<std::byte> response = call.options.response;
    const size_t limit                  = response.data() != nullptr ? response.size() :
                                                                       m_channel->options().max_response;
    if (message.length > limit) {
        m_channel->end(call, Status::too_large,
                       "the call was run, but its response has " +
                               std::to_string(message.length) + " bytes, at most " +
                               std::to_string(limit) + " were expected");
        return;
    }
    if (!message.remote && (response.data() == nullptr)) {
        call.reply.body = worker().keep(message);
        m_channel->on_answered(call);
        return;
    }
    std::byte *to = response.data();
    if (to != nullptr) {
        call.reply.body = Body(nullptr, response.first(message.length));
    } else {
        auto memory     = pooled(message.length);
        to              = memory.get();
        call.reply.body = Body(memory, {memory.get(), message.length});
    }
    if (!message.remote) {
        if (message.length != 0) {
            std::memcpy(to, message.data, message.length);
        }
        m_channel->on_answered(call);
        return;
    }
    call.receiving = true;
    worker().receive(message, to, [keep = call.shared_from_this()](ucs_status_t status) {
        keep->channel->on_received(*keep, status);
    });
}

void Connection::on_failure(const std::string &why)
{
    const bool was_ready = std::exchange(m_ready, false);
    const auto keep      = shared_from_this();
    m_timer.clear();
    // Calls leave the table as they are dealt with.
    for (size_t slot = 0; slot < m_slots.size(); slot++) {
        if (m_slots[slot].call != nullptr) {
            m_channel->on_lost(*m_slots[slot].call, why);
        }
    }
    m_channel->on_failed(*this, why, was_ready);
}

} // namespace be::adapter
