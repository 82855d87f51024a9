// SPDX-License-Identifier: BSD-3-Clause
//
// Two fabrics whose RDMA can be taken away, and what they do meanwhile.

#pragma once

#include "pair.hpp"

#include "control/node.hpp"

#include <span>

namespace test {

inline be_fabric_config_t falling(const Device &device)
{
    be_fabric_config_t config = quick(device);
    config.fallback           = BE_FALLBACK_TCP;
    config.fallback_time      = 0.02;
    return config;
}

// The link of this process, which both fabrics use.
inline void set_link(bool up)
{
    BOOST_REQUIRE(device_fault(up ? "clear" : "link-down"));
}

inline bool over_tcp(End &end)
{
    return end.engine_peer().tcp != nullptr &&
           end.engine_peer().recovery.state() == be::core::RecoveryState::tcp;
}

inline bool over_rdma(End &end)
{
    return end.engine_peer().tcp == nullptr && !end.engine_peer().fallen_back &&
           end.engine_peer().state == be::engine::Peer::State::ready;
}

struct Falling : Pair {
    using Pair::Pair;

    ~Falling()
    {
        (void)device_fault("clear");
    }

    // Sends everything there is meanwhile.
    bool act_until(const std::function<bool()> &done)
    {
        return until([&] {
            (random() % 2 == 0 ? a : b).act();
            return done();
        });
    }

    // Without the checks of contents that until() makes.
    bool progress_until(const std::function<bool()> &done)
    {
        return wait({&a.node, &b.node}, done);
    }

    void fall()
    {
        set_link(false);
        BOOST_REQUIRE_MESSAGE(act_until([&] { return over_tcp(a) && over_tcp(b); }),
                              a.state() << "; " << b.state());
    }

    void rise()
    {
        set_link(true);
        BOOST_REQUIRE_MESSAGE(act_until([&] { return over_rdma(a) && over_rdma(b); }),
                              a.state() << "; " << b.state());
    }

    void act(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            (random() % 2 == 0 ? a : b).act();
            if (random() % 4 == 0) {
                (void)be_fabric_progress((random() % 2 == 0 ? a : b).node.fabric);
            }
        }
    }

    void settle()
    {
        BOOST_REQUIRE_MESSAGE(until([&] { return a.quiet() && b.quiet(); }),
                              "something does not complete; " << a.state() << "; "
                                                              << b.state());
        flush();
        a.settled();
        b.settled();
    }

    uint64_t of_both(const char *metric)
    {
        return a.node.metric(metric) + b.node.metric(metric);
    }

    // The side channel, as if the network had.
    void cut()
    {
        End &end = random() % 2 == 0 ? a : b;
        be::control::Node::acquire()->close(end.engine_peer().connection, false);
    }
};

struct Fallen : Falling {
    explicit Fallen(Device &device) : Falling(device, falling(device), 1)
    {
        fall();
        settle();
    }

    // As the peer of `to` would send it.
    void send_frame(End &to, std::uint8_t kind, std::span<const std::uint8_t> header,
                    std::span<const std::uint8_t> payload = {})
    {
        const auto &from = to.other->engine_peer();
        BOOST_REQUIRE(be::control::Node::acquire()->data(from.connection,
                                                         {kind, from.recovery.epoch(),
                                                          header, payload}));
    }
};

} // namespace test
