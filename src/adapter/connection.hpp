// SPDX-License-Identifier: BSD-3-Clause
//
// A channel's connection to one server: the table of requests under way.
//
// A request's id is its slot in the table and how often the slot was used, so an answer
// that comes late, or is made up, finds nothing.
#pragma once

#include "adapter/endpoint.hpp"
#include "adapter/exchange/dialer.hpp"
#include "adapter/timer_wheel.hpp"

#include <string>
#include <vector>

namespace be::adapter {

class CallState;
class ChannelState;

class Connection : public Endpoint {
public:
    Connection(std::shared_ptr<ChannelState> channel, size_t address);

    // Under the worker's lock, all.

    // Throws nothing; the text says why it could not be begun.
    std::string open();

    const char *on_message(Incoming &message) override;
    void on_failure(const std::string &why) override;

    // Sends the call's request; the call is in the table from now on.
    void send(CallState &call, Clock::time_point now);

    // Takes the call out of the table. `tell` the server that nobody waits.
    void remove(CallState &call, bool tell);

    bool ready() const noexcept
    {
        return m_ready && !m_draining;
    }

    // Takes no further calls, and is closed after the last.
    void drain();

    // Has room for another call.
    bool accepts(bool bulk) const noexcept
    {
        return ready() && (m_calls < m_limit) && (!bulk || (m_bulk < (m_limit + 1) / 2));
    }

    size_t calls() const noexcept
    {
        return m_calls;
    }

    uint64_t incarnation() const noexcept
    {
        return m_incarnation;
    }

    size_t address() const noexcept
    {
        return m_address;
    }

private:
    struct ConnectTimer : Timer {
        ConnectTimer(Connection &owner, Fire fire) : Timer(fire), connection(owner)
        {
        }
        Connection &connection;
    };

    struct Slot {
        CallState *call = nullptr;
        uint32_t uses   = 0;
    };

    void on_welcome(const exchange::Message &welcome, std::span<const std::byte> address,
                    uint32_t features);
    const char *on_response(Incoming &message);
    const char *on_stream_message(Incoming &message);
    void place_body(CallState &call, Incoming &message);
    void notify(const wire::Header &header);
    CallState *find(uint64_t id) const noexcept;

    const std::shared_ptr<ChannelState> m_channel;
    const size_t m_address; // index in the channel's list
    bool m_ready           = false;
    bool m_draining        = false;
    uint64_t m_incarnation = 0;
    uint32_t m_features    = 0; // of both sides
    size_t m_limit         = 0;
    size_t m_calls         = 0;
    size_t m_bulk          = 0;
    std::vector<Slot> m_slots;
    std::vector<uint32_t> m_free;
    std::shared_ptr<exchange::Dialer> m_dialer; // is the link
    ConnectTimer m_timer;
};

} // namespace be::adapter
