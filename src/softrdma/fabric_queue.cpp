// SPDX-License-Identifier: BSD-3-Clause
//
// What waits to be sent, and which port is next.
#include "fabric_model.h"

#include "fabric_line.h"

#include <algorithm>

namespace softrdma {
namespace {

// Messages of one flow; those behind wait in their queue pair.
constexpr uint32_t flow_messages = 256;
// Between two questions after a message that is on its way.
constexpr uint64_t least_wait_ns = 1000;

} // namespace

uint32_t fabric_model::open_flow(uint32_t from, uint32_t owner)
{
    uint32_t index = m_state.free_flow;
    if (index != 0) {
        m_state.free_flow = m_state.flows[index].next;
    } else if (m_state.high_flow + 1 < limits::fabric_flows) {
        index = ++m_state.high_flow;
    } else {
        return 0;
    }
    m_state.flows[index]       = {};
    m_state.flows[index].from  = from;
    m_state.flows[index].owner = owner;
    m_state.flows[index].used  = true;
    return index;
}

void fabric_model::close_flow(uint32_t index)
{
    fabric_flow &flow = m_state.flows[index];
    if (flow.length != 0) {
        leave_ring(index);
        plan(flow.from);
    }
    while (flow.first != 0) {
        uint32_t message = flow.first;
        flow.first       = m_state.messages[message].next;
        drop_message(message);
    }
    flow              = {};
    flow.next         = m_state.free_flow;
    m_state.free_flow = index;
}

void fabric_model::close_flows_of(uint32_t owner)
{
    for (uint32_t i = 1; i <= m_state.high_message; ++i) {
        fabric_message &message = m_state.messages[i];
        bool over               = (message.state != message_state::unused) &&
                    (message.state != message_state::queued);
        if (over && (m_state.flows[message.flow].owner == owner)) {
            drop_message(i);
        }
    }
    for (uint32_t i = 1; i <= m_state.high_flow; ++i) {
        if (m_state.flows[i].used && (m_state.flows[i].owner == owner)) {
            close_flow(i);
        }
    }
}

uint32_t fabric_model::send(const message_request &request, uint64_t now)
{
    advance(now);
    fabric_flow &flow = m_state.flows[request.flow];
    uint32_t index    = m_state.free_message;
    if (flow.length >= flow_messages) {
        return 0;
    }
    if (index != 0) {
        m_state.free_message = m_state.messages[index].next;
    } else if (m_state.high_message + 1 < limits::fabric_messages) {
        index = ++m_state.high_message;
    } else {
        return 0;
    }

    fabric_message &message = m_state.messages[index];
    message                 = {};
    message.when            = now + request.lag_ns;
    message.bytes           = request.bytes;
    message.timeout_ns      = request.timeout_ns;
    message.mtu             = request.mtu;
    message.packets         = static_cast<uint32_t>(
            std::max<uint64_t>((request.bytes + request.mtu - 1) / request.mtu, 1));
    message.to       = request.to;
    message.flow     = request.flow;
    message.retries  = request.retries;
    message.state    = message_state::queued;
    message.priority = request.priority % priorities;
    message.reliable = request.reliable;
    message.ordered  = request.ordered;
    message.answer   = request.answer;
    if (flow.length++ == 0) {
        flow.first = index;
        enter_ring(request.flow);
    } else {
        m_state.messages[flow.last].next = index;
    }
    flow.last = index;
    plan(flow.from);
    return index;
}

message_fate fabric_model::look(uint32_t index, uint64_t now)
{
    advance(now);
    const fabric_message &message = m_state.messages[index];
    if (message.state != message_state::queued) {
        return {message.state, message.when};
    }
    // The least that it can still take; asked again, it may be longer.
    const fabric_flow &flow = m_state.flows[message.flow];
    const fabric_port &from = m_state.ports[flow.from];
    fabric_settings here    = m_state.settings[flow.from].load();
    fabric_settings there   = m_state.settings[message.to].load();
    uint64_t start = std::max({now, message.when, message.resend_at, from.line_free});
    uint64_t bytes = message.bytes -
                     std::min<uint64_t>(message.bytes,
                                        uint64_t{message.sent} * message.mtu);
    uint64_t line   = start + line_ns(bytes, here.rate);
    uint64_t buffer = std::max(now, m_state.ports[message.to].drained) +
                      line_ns(bytes, there.rate);
    uint64_t when = std::max(line, buffer) + here.delay_ns + there.delay_ns;
    return {message_state::queued, std::max(when, now + least_wait_ns)};
}

void fabric_model::release(uint32_t index)
{
    fabric_message &message = m_state.messages[index];
    if (message.state == message_state::queued) {
        message.abandoned = true; // it still takes the line and the buffer
    } else {
        drop_message(index);
    }
}

void fabric_model::drop_message(uint32_t index)
{
    m_state.messages[index]      = {};
    m_state.messages[index].next = m_state.free_message;
    m_state.free_message         = index;
}

void fabric_model::finish(fabric_message &message, message_state state, uint64_t when)
{
    fabric_flow &flow = m_state.flows[message.flow];
    message.state     = state;
    message.when      = when;
    if ((state == message_state::delivered) && message.ordered) {
        message.when       = std::max(when, flow.last_delivery);
        flow.last_delivery = message.when;
    }
    uint32_t index = flow.first;
    flow.first     = message.next;
    message.next   = 0;
    if (--flow.length == 0) {
        flow.last = 0;
        leave_ring(message.flow);
    }
    if (message.abandoned) {
        drop_message(index);
    }
}

void fabric_model::enter_ring(uint32_t index)
{
    fabric_flow &flow = m_state.flows[index];
    fabric_port &port = m_state.ports[flow.from];
    if (port.flows == 0) {
        flow.next = flow.previous            = index;
        port.flows                           = index;
        m_state.active[m_state.active_count] = flow.from;
        port.active                          = ++m_state.active_count;
        return;
    }
    fabric_flow &behind                 = m_state.flows[port.flows];
    flow.next                           = port.flows;
    flow.previous                       = behind.previous;
    m_state.flows[behind.previous].next = index;
    behind.previous                     = index;
}

void fabric_model::leave_ring(uint32_t index)
{
    fabric_flow &flow = m_state.flows[index];
    fabric_port &port = m_state.ports[flow.from];
    if (flow.next == index) {
        // The last of the active ports takes the place.
        uint32_t moved                  = m_state.active[--m_state.active_count];
        m_state.active[port.active - 1] = moved;
        m_state.ports[moved].active     = port.active;
        port.active                     = 0;
        port.flows                      = 0;
    } else {
        m_state.flows[flow.next].previous = flow.previous;
        m_state.flows[flow.previous].next = flow.next;
        if (port.flows == index) {
            port.flows = flow.previous;
        }
    }
    flow.next = flow.previous = 0;
}

// When the first message of a flow can go on.
uint64_t fabric_model::ready(const fabric_port &port, const fabric_flow &flow) const
{
    const fabric_message &message = m_state.messages[flow.first];
    uint64_t when = std::max(message.when, port.paused_until[message.priority]);
    return (message.sent == message.packets) ? std::max(when, message.resend_at) : when;
}

// Decides what the port sends next: round robin among the flows that could at that time.
void fabric_model::plan(uint32_t index)
{
    fabric_port &port = m_state.ports[index];
    if (port.flows == 0) {
        return;
    }
    port.next_time = UINT64_MAX;
    uint32_t first = m_state.flows[port.flows].next;
    uint32_t flow  = first;
    do {
        uint64_t when = std::max(port.line_free, ready(port, m_state.flows[flow]));
        if (when < port.next_time) {
            port.next_time = when;
            port.next_flow = flow;
        }
        flow = m_state.flows[flow].next;
    } while ((flow != first) && (port.next_time > port.line_free));
}

bool fabric_model::next_port(uint64_t now, uint32_t &result)
{
    // Among those that come first the turn changes, or one could fill the buffer each time.
    uint32_t count = m_state.active_count;
    uint64_t best  = UINT64_MAX;
    uint32_t place = (count == 0) ? 0 : m_state.turn % count;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t port = m_state.active[place];
        if (m_state.ports[port].next_time < best) {
            best   = m_state.ports[port].next_time;
            result = port;
        }
        place = (place + 1 == count) ? 0 : place + 1;
    }
    if (best > now) {
        return false;
    }
    ++m_state.turn;
    return true;
}

void fabric_model::advance(uint64_t now)
{
    uint32_t port;
    while (next_port(now, port)) {
        send_packet(port);
        plan(port);
    }
}

void fabric_model::recover(uint64_t now)
{
    for (fabric_port &port : m_state.ports) {
        port.flows = port.active = 0;
    }
    m_state.active_count = 0;
    m_state.free_message = m_state.free_flow = 0;
    for (uint32_t i = 1; i <= m_state.high_flow; ++i) {
        fabric_flow &flow = m_state.flows[i];
        flow.first = flow.last = flow.length = flow.previous = flow.next = 0;
        if (!flow.used) {
            flow.next         = m_state.free_flow;
            m_state.free_flow = i;
        }
    }
    for (uint32_t i = 1; i <= m_state.high_message; ++i) {
        fabric_message &message = m_state.messages[i];
        bool unused = (message.state == message_state::unused) || message.abandoned ||
                      !m_state.flows[message.flow].used;
        if (unused) {
            drop_message(i);
        } else if (message.state == message_state::queued) {
            message.state = message_state::delivered;
            message.when  = now;
            message.next  = 0;
        }
    }
}

} // namespace softrdma
