// SPDX-License-Identifier: BSD-3-Clause
#include "counters.h"

namespace softrdma {
namespace {

constexpr uint32_t data_unit = 4; // the kernel counts data in words of four bytes

constexpr const char *general = "counters";
constexpr const char *special = "hw_counters";

void add_pauses(port_shared &port, uint32_t priority, std::vector<counter_view> &list)
{
    pause_counters &pause = port.pause[priority];
    std::string number    = std::to_string(priority);
    list.push_back({"rx_prio" + number + "_pause", special, 1,
                    "Pause frames that stopped this port's sending", &pause.rx_frames});
    list.push_back({"rx_prio" + number + "_pause_ns", special, 1,
                    "Nanoseconds that this port's sending was stopped", &pause.rx_ns});
    list.push_back({"tx_prio" + number + "_pause", special, 1,
                    "Pause frames sent to others since the buffer toward this port was "
                    "full",
                    &pause.tx_frames});
    list.push_back({"tx_prio" + number + "_pause_ns", special, 1,
                    "Nanoseconds, summed over the senders, that others were stopped",
                    &pause.tx_ns});
}

} // namespace

std::vector<counter_view> list_counters(port_shared &port)
{
    requester_counters &req  = port.requester;
    responder_counters &resp = port.responder;
    std::vector<counter_view> list{
            {"port_xmit_data", general, data_unit, "Payload bytes sent", &req.xmit_bytes},
            {"port_xmit_packets", general, 1, "Data packets sent", &req.xmit_packets},
            {"port_rcv_data", general, data_unit, "Payload bytes that arrived",
             &resp.rcv_bytes},
            {"port_rcv_packets", general, 1, "Data packets that arrived",
             &resp.rcv_packets},
            {"port_rcv_errors", general, 1,
             "Messages discarded at their arrival since a packet's checksum was wrong",
             &resp.rcv_errors},
            {"rnr_nak_retry_err", special, 1,
             "Refusals for want of a receive that this port's requests met, and retried",
             &req.rnr_nak_retry_err},
            {"local_ack_timeout_err", special, 1,
             "Acknowledgements that did not come in time, after which the request was "
             "retried",
             &req.local_ack_timeout_err},
            {"packet_seq_err", special, 1,
             "Refusals of packets out of sequence that this port's requests met",
             &req.packet_seq_err},
            {"req_rnr_retries_exceeded", special, 1,
             "Requests that failed since no receive came in all retries",
             &req.rnr_retries_exceeded},
            {"req_transport_retries_exceeded", special, 1,
             "Requests that failed since no acknowledgement came in all retries",
             &req.transport_retries_exceeded},
            {"out_of_buffer", special, 1, "Messages that arrived and found no receive",
             &resp.out_of_buffer},
            {"out_of_sequence", special, 1, "Packets that arrived out of sequence",
             &resp.out_of_sequence},
            {"dropped_packets", special, 1,
             "Packets toward this port lost in the fabric or for want of buffer",
             &resp.dropped_packets},
            {"dropped_data", special, data_unit,
             "Payload bytes toward this port lost in the fabric or for want of buffer",
             &resp.dropped_bytes},
    };
    for (uint32_t priority = 0; priority < priorities; ++priority) {
        add_pauses(port, priority, list);
    }
    return list;
}

} // namespace softrdma
