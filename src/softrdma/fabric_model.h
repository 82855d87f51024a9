// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric: one switch, to which every port is connected by a line. An event simulation of packets, driven
// by whoever asks it something: all calls first let pass what happened until `now`. So the outcome does
// not depend on which process runs when.
//
// Pure: no clock, no lock, no thread; state and counters are given. docs/softrdma-fabric.md has the
// formulas.
//
// Thread rules: one caller at a time. `now` never goes back.
#pragma once

#include "fabric_state.h"
#include "port.h"

namespace softrdma {

struct message_request {
    uint32_t flow       = 0;
    uint32_t to         = 0; // port
    uint64_t bytes      = 0;
    uint32_t mtu        = 4096;
    uint8_t priority    = 0;
    bool reliable       = true;
    bool ordered        = true; // not to overtake an earlier one of its flow
    bool answer         = false; // to a request of the port it goes to
    uint64_t lag_ns     = 0; // it is ready to be sent so much later
    uint64_t timeout_ns = 0;
    uint32_t retries    = 0;
};

struct message_fate {
    message_state state = message_state::unused;
    uint64_t when =
            0; // queued: when to ask again; else when it became so, maybe later than now
};

class fabric_model {
public:
    // `counters`: those of the ports, by port_key().
    fabric_model(fabric_state &state, port_shared *counters) :
        m_state(state), m_counters(counters)
    {
    }

    // A flow out of that port, owned by the process in a slot. 0 when there are too many.
    uint32_t open_flow(uint32_t from, uint32_t owner);

    // Its messages are forgotten with it.
    void close_flow(uint32_t flow);

    // All of a process that is gone.
    void close_flows_of(uint32_t owner);

    // Ready to be sent now. The message's number, 0 when there is no room: ask again later.
    uint32_t send(const message_request &request, uint64_t now);

    message_fate look(uint32_t message, uint64_t now);

    // The message is not asked about any more.
    void release(uint32_t message);

    // How long an acknowledgement takes back to the port.
    uint64_t return_ns(uint32_t from, uint32_t to) const
    {
        return m_state.settings[from].load().delay_ns +
               m_state.settings[to].load().delay_ns;
    }

    // Brings order into a state that a dead process was changing: what was on its way is delivered.
    void recover(uint64_t now);

private:
    struct packet;

    void advance(uint64_t now);
    bool next_port(uint64_t now, uint32_t &port);
    void send_packet(uint32_t port);
    bool pauses(const packet &p);
    bool buffered(const packet &p, uint64_t arrival, uint64_t &departure);
    void arrived(packet &p, uint64_t departure);
    void lost(packet &p, uint64_t arrival, bool reachable);
    void schedule_resend(packet &p, uint64_t arrival, bool noticed);
    bool resend(fabric_message &message, uint32_t from, uint64_t now);
    void finish(fabric_message &message, message_state state, uint64_t when);
    uint64_t ready(const fabric_port &port, const fabric_flow &flow) const;
    void drop_message(uint32_t message);
    void enter_ring(uint32_t flow);
    void leave_ring(uint32_t flow);
    void plan(uint32_t port);
    uint64_t random();
    bool happens(double share);

    fabric_state &m_state;
    port_shared *m_counters;
};

} // namespace softrdma
