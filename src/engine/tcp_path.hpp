// SPDX-License-Identifier: BSD-3-Clause
//
// Data over the side channel, for peers to which there is no RDMA: the work requests of their send queues are sent as
// frames (tcp_frame.hpp) instead of being posted, in the order of each queue. What the peer has executed it says by
// numbers; they retire as by a completion. So order, fences, flushes, credit and replay are those of queue pairs. Outgoing
// is in tcp_path.cpp, incoming in tcp_arrivals.cpp.
//
// Nothing is copied before the channel takes it: what it does not take waits in the send queue, which bounds it.
//
// Guarded as the fabric is.

#pragma once

#include "engine/inbox.hpp"
#include "engine/peer.hpp"
#include "engine/remote_keys.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace be::engine {

class Fabric;

class TcpPath {
public:
    explicit TcpPath(Fabric &fabric) noexcept : m_fabric(fabric)
    {
    }

    // From now on data goes this way. What the position of the peer says has arrived is done. Throws std::bad_alloc.
    void open(Peer &peer);

    // Sends what there is, as far as the channel takes it.
    void pump(Peer &peer) noexcept;

    // As long as data goes over the channel: looks whether some has come, which saves it the way through the control
    // thread. Before events are taken.
    void look() noexcept
    {
        if (m_open != 0) [[unlikely]] {
            look_at_channel();
        }
    }

    // Nobody will look: the control thread does.
    void rest() noexcept;

    void on_data(const ControlEvent &event);
    void on_writable(control::ConnectionId connection);

    // After events: answers them.
    void answer();

private:
    // tcp_path.cpp
    void look_at_channel() noexcept;
    bool send_one(Peer &peer);
    bool send_answer(Peer &peer);
    bool send_request(Peer &peer, bool bulk);
    bool send_served(Peer &peer);
    bool send_message(Peer &peer, const Slot &slot);
    bool send_write(Peer &peer, const Slot &slot, bool bulk);
    bool send_read(Peer &peer, const Slot &slot);
    bool send_piece(Peer &peer, TcpFrame frame, std::span<const ibv_sge> parts);
    bool send(Peer &peer, const TcpFrame &frame, std::span<const std::byte> payload = {});

    // tcp_arrivals.cpp
    void on_frame(Peer &peer, const TcpFrame &frame, std::span<std::byte> payload);
    void on_message(Peer &peer, const TcpFrame &frame, std::span<std::byte> payload);
    void on_write(Peer &peer, const TcpFrame &frame, std::span<const std::byte> payload);
    void on_read(Peer &peer, const TcpFrame &frame);
    void on_reply(Peer &peer, const TcpFrame &frame, std::span<const std::byte> payload);
    void on_done(Peer &peer, const TcpFrame &frame);
    void on_refused(Peer &peer, const TcpFrame &frame);
    void executed(Peer &peer, const TcpFrame &frame) noexcept;
    void refuse(Peer &peer, const TcpFrame &frame, Refusal why) noexcept;
    void nonsense(Peer &peer, std::string_view what);

    Fabric &m_fabric;
    unsigned m_open  = 0; // peers whose data goes this way
    unsigned m_quiet = 0; // looks since something came
    unsigned m_awake = 0; // looks since rest(), up to as many as it takes to take over
    std::vector<Peer *> m_heard; // since answer()
    std::vector<Peer *> m_answering; // storage of answer()
    bool m_done = false; // something of ours is, since answer()
};

} // namespace be::engine
