// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to a packet.
#include "fabric_model.h"

#include "fabric_line.h"

#include <algorithm>

namespace softrdma {

struct fabric_model::packet {
    fabric_message &message;
    fabric_flow &flow;
    uint32_t number; // in its message
    uint64_t bytes;
    uint64_t wire;
    uint64_t start;
    fabric_settings here, there;
};

namespace {

// A packet takes at least so much of the line, if it has no payload.
constexpr uint64_t smallest_packet = 64;
// Looked after this often when the timeout of acknowledgements is "never".
constexpr uint64_t patient_period_ns = 10'000'000;
// A datagram that is out of order comes as many packets later.
constexpr uint64_t overtakers = 4;

} // namespace

uint64_t fabric_model::random()
{
    // xorshift64*
    uint64_t &x = m_state.random;
    x           = (x == 0) ? 0x9e3779b97f4a7c15ull : x;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return x * 0x2545f4914f6cdd1dull;
}

bool fabric_model::happens(double share)
{
    return (share > 0) && (double(random() >> 11) * 0x1p-53 < share);
}

void fabric_model::send_packet(uint32_t port)
{
    fabric_port &from       = m_state.ports[port];
    fabric_flow &flow       = m_state.flows[from.next_flow];
    fabric_message &message = m_state.messages[flow.first];
    uint64_t now            = from.next_time;
    from.flows              = from.next_flow;
    if ((message.resend_at != 0) && (message.resend_at <= now) &&
        !resend(message, port, now)) {
        return;
    }

    uint64_t offset = uint64_t{message.sent} * message.mtu;
    uint64_t bytes  = std::min<uint64_t>(message.mtu, message.bytes - offset);
    packet p{message,
             flow,
             message.sent,
             bytes,
             std::max(bytes, smallest_packet),
             now,
             m_state.settings[port].load(),
             m_state.settings[message.to].load()};
    if (pauses(p)) {
        return;
    }

    constexpr uint32_t cut = port_link_down | port_removed;
    port_shared &here      = m_counters[port];
    bool leaves            = (here.condition.load(std::memory_order_relaxed) & cut) == 0;
    bool reachable         = leaves &&
                     ((m_counters[message.to].condition.load(std::memory_order_relaxed) &
                       cut) == 0);
    from.line_free   = now + line_ns(p.wire, p.here.rate);
    uint64_t arrival = from.line_free, departure = arrival;
    ++message.sent;
    if (leaves) {
        here.requester.xmit_bytes.add(bytes);
        here.requester.xmit_packets.add();
    }
    double loss = 1 - (1 - p.here.loss) * (1 - p.there.loss);
    if (!reachable || happens(loss) || !buffered(p, arrival, departure)) {
        if (leaves) {
            m_counters[message.to].responder.dropped_packets.add();
            m_counters[message.to].responder.dropped_bytes.add(bytes);
        }
        lost(p, arrival, reachable);
    } else {
        arrived(p, departure);
    }

    if ((message.sent == message.packets) && (message.resend_at == 0)) {
        finish(message, message.damaged ? message_state::lost : message_state::delivered,
               message.arrives);
    }
}

// Whether the switch has told the sender to wait.
bool fabric_model::pauses(const packet &p)
{
    fabric_port &to = m_state.ports[p.message.to];
    bool &stopped   = to.stops_senders[p.message.priority];
    if (!stopped) {
        return false;
    }
    if (!p.there.pfc || (p.there.rate == 0) ||
        (line_bytes(to.drained, p.start, p.there.rate) <= p.there.xon)) {
        stopped = false;
        return false;
    }
    uint64_t until = std::max(to.drained - line_ns(p.there.xon, p.there.rate),
                              p.start + 1);
    m_state.ports[p.flow.from].paused_until[p.message.priority] = until;
    pause_counters &sender   = m_counters[p.flow.from].pause[p.message.priority];
    pause_counters &receiver = m_counters[p.message.to].pause[p.message.priority];
    sender.rx_frames.add();
    sender.rx_ns.add(until - p.start);
    receiver.tx_frames.add();
    receiver.tx_ns.add(until - p.start);
    return true;
}

// Puts the packet into the switch's buffer toward its port; false when that has no room.
bool fabric_model::buffered(const packet &p, uint64_t arrival, uint64_t &departure)
{
    departure = arrival;
    if (p.there.rate == 0) {
        return true;
    }
    fabric_port &to = m_state.ports[p.message.to];
    uint64_t fill   = line_bytes(to.drained, arrival, p.there.rate) + p.wire;
    if ((p.there.buffer != 0) && (fill > p.there.buffer)) {
        return false;
    }
    if ((p.there.buffer != 0) && p.there.pfc && (fill > p.there.xoff)) {
        to.stops_senders[p.message.priority] = true;
    }
    to.drained = std::max(to.drained, arrival) + line_ns(p.wire, p.there.rate);
    departure  = to.drained;
    return true;
}

void fabric_model::arrived(packet &p, uint64_t departure)
{
    fabric_message &message   = p.message;
    responder_counters &there = m_counters[message.to].responder;
    there.rcv_bytes.add(p.bytes);
    there.rcv_packets.add();
    if (message.resend_at != 0) {
        there.out_of_sequence.add(); // behind one that was lost: discarded
        return;
    }
    uint64_t jitter = p.here.jitter_ns + p.there.jitter_ns;
    uint64_t late   = 0;
    if (happens(1 - (1 - p.here.reorder) * (1 - p.there.reorder))) {
        there.out_of_sequence.add();
        if (message.reliable) {
            schedule_resend(p, departure, true);
            return;
        }
        message.damaged |= message.ordered;
        late = overtakers * line_ns(message.mtu, p.here.rate) + jitter;
    }
    message.attempts = 0;
    if (jitter != 0) {
        late += random() % (jitter + 1);
    }
    message.arrives = std::max(message.arrives,
                               departure + p.here.delay_ns + p.there.delay_ns + late);
}

void fabric_model::lost(packet &p, uint64_t arrival, bool reachable)
{
    if (!p.message.reliable) {
        p.message.damaged = true;
        p.message.arrives = std::max(p.message.arrives, arrival);
    } else if (p.message.resend_at == 0) {
        bool followed = (p.message.sent < p.message.packets) || (p.flow.length > 1);
        schedule_resend(p, arrival, reachable && followed);
    }
}

// The receiver notices the gap at the next packet, behind what is buffered; its refusal travels back.
// Otherwise the sender's timer notices.
void fabric_model::schedule_resend(packet &p, uint64_t arrival, bool noticed)
{
    fabric_message &message = p.message;
    message.resend_from     = p.number;
    message.by_timer        = !noticed;
    if (noticed) {
        uint64_t buffer   = std::max(arrival, m_state.ports[message.to].drained);
        message.resend_at = buffer + line_ns(message.mtu, p.here.rate) +
                            2 * (p.here.delay_ns + p.there.delay_ns);
    } else {
        message.resend_at = p.start + ((message.timeout_ns != 0) ? message.timeout_ns :
                                                                   patient_period_ns);
    }
}

// Goes back to the packet that was lost. False when that was done too often.
bool fabric_model::resend(fabric_message &message, uint32_t from, uint64_t now)
{
    if ((message.timeout_ns != 0) && (message.attempts >= message.retries)) {
        finish(message, message_state::failed, now);
        return false;
    }
    ++message.attempts;
    requester_counters &requester =
            m_counters[message.answer ? message.to : from].requester;
    (message.by_timer ? requester.local_ack_timeout_err : requester.packet_seq_err).add();
    message.sent      = message.resend_from;
    message.resend_at = 0;
    return true;
}

} // namespace softrdma
