// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts with an application, software and a NIC on a fabric, driven by one policy; and
// the transfers that a scenario starts on them.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver.hpp"
#include "nic.hpp"
#include "policy.hpp"
#include "random.hpp"

namespace be::sim {

/* The policy broke one of its promises; the message says which. */
class Broken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct WorldConfig {
    FabricConfig fabric;
    NicConfig nic;
    PolicyConfig policy;
    uint64_t seed      = 1;
    Time software      = 500 * nanosecond; /* from completion to the program */
    Time per_message   = 100 * nanosecond; /* of the application, for a SEND */
    double ns_per_byte = 0; /* likewise */
    std::string trace; /* file that host 0's protocol events are recorded in */
};

struct Transfer {
    Link link;
    int64_t size;
    int tag; /* the scenario's: which group it belongs to */
    Time start;
    Time end = -1; /* when the receiver's software has the last of it */
};

class World : private NicClient {
public:
    explicit World(const WorldConfig &config);
    ~World() override;

    /* Connects two hosts; returns the link of the first. */
    Link connect(uint32_t from, uint32_t to);

    /* Starts a transfer; returns its number. */
    uint32_t start(Link link, int64_t bytes, Operation operation, int tag);

    void run_until(Time until);

    /* Until all transfers have ended; false when that does not happen in time. */
    bool run_to_end(Time limit);

    void after(Time delay, std::function<void()> call);

    /* Called when a transfer ends. */
    void on_done(std::function<void(uint32_t transfer)> call)
    {
        m_on_done = std::move(call);
    }

    /* The host falls silent. */
    void kill(uint32_t host);

    /* Everybody hears that it is dead. */
    void declare_dead(uint32_t host);

    /* The policy suspects that the peer is dead. It forgets it if so; one that lives would
     * connect again and go on, which is not modelled: it keeps what it has. */
    void give_up(Link link);

    /* The host's application stops taking messages, or goes on. */
    void stop_application(uint32_t host, bool stop);

    /* --- for the drivers --- */

    Nic &nic()
    {
        return m_nic;
    }

    Time now() const
    {
        return m_nic.fabric().now();
    }

    uint64_t now_ns() const
    {
        return static_cast<uint64_t>(now() / nanosecond);
    }

    void set_timer(uint32_t host, Time at);

    /* Receives of the host beyond those it started with. */
    void post_receives(uint32_t host, uint32_t count)
    {
        m_nic.add_receives(host, count);
    }

    /* --- what happened --- */

    const std::vector<Transfer> &transfers() const
    {
        return m_transfers;
    }

    uint32_t pending() const
    {
        return m_pending;
    }

    /* Payload that arrived at a host; or by one link, at its other end. */
    int64_t received(uint32_t host) const
    {
        return m_hosts[host].received;
    }

    int64_t delivered(Link link) const
    {
        return m_delivered[link];
    }

    uint32_t links() const
    {
        return static_cast<uint32_t>(m_delivered.size());
    }

    Time last_end() const
    {
        return m_last_end;
    }

    uint32_t hosts() const
    {
        return static_cast<uint32_t>(m_hosts.size());
    }

    uint32_t host_of(Link link) const
    {
        return m_nic.destination(link ^ 1);
    }

    const Nic &nic() const
    {
        return m_nic;
    }

    /* Of one packet to another leaf with nothing in the way, credit included. */
    Time idle_latency(int64_t bytes) const
    {
        constexpr int hops   = 4;
        const Fabric &fabric = m_nic.fabric();

        return hops * ((bytes + overhead) * fabric.byte_time() +
                       fabric.config().propagation) +
               m_config.software;
    }

    DriverCounters counters() const;

    /* Throws Broken. */
    void check() const;

    Random random;

private:
    enum EventKind : uint32_t {
        message_ready = Nic::client,
        control_ready,
        application_done,
        timer,
        call
    };

    struct Host {
        std::unique_ptr<Driver> driver;
        Fifo<uint32_t> inbox; /* sizes of messages that wait for the application */
        bool busy        = false;
        bool stopped     = false;
        int64_t received = 0;
        Time timer_at    = never;
    };

    void message_arrived(uint32_t host, uint32_t message) override;
    void message_acked(uint32_t host, const Message &message) override;
    void control_arrived(uint32_t host, const Packet &packet) override;
    void event(const Event &event) override;

    void on_message(uint32_t host, uint32_t message);
    void on_control(uint32_t host, uint32_t packet);
    void work(uint32_t host);

    WorldConfig m_config;
    Nic m_nic;
    std::vector<Host> m_hosts;
    std::vector<int64_t> m_delivered;
    std::vector<Transfer> m_transfers;
    std::vector<std::function<void()>> m_calls;
    std::vector<uint32_t> m_free_calls;
    std::function<void(uint32_t)> m_on_done;
    uint32_t m_pending = 0;
    Time m_last_end    = 0;
};

} // namespace be::sim
