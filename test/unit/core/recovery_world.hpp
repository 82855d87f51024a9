// SPDX-License-Identifier: BSD-3-Clause
//
// Two Recoveries with their drivers, a pair of queue pairs that can fail at any point, and a
// channel that can be cut. Each end sends numbered messages to the other. Everything happens
// in an order that a seed decides.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include "core/recovery.hpp"
#include "core/sequence.hpp"

namespace be::test {

struct RecoveryWorldConfig {
    core::RecoveryConfig recovery;
    uint32_t messages    = 200; /* each way */
    uint32_t first_epoch = 0; /* to wrap */
    unsigned failures    = 0; /* of queue pairs */
    unsigned cuts        = 0; /* of the channel */
    unsigned losses      = 0; /* of devices */
};

class RecoveryWorld {
public:
    RecoveryWorld(const RecoveryWorldConfig &config, uint64_t seed);

    /* Something happens, by chance. */
    void step();

    /* No fault is left to come, both ends are up in the same epoch, everything arrived. */
    bool finished() const;

    /* The first thing that went wrong; empty if nothing did. */
    const std::string &error() const
    {
        return m_error;
    }

    std::string describe() const;

    const core::Recovery &recovery(unsigned end) const
    {
        return m_ends[end].recovery;
    }

private:
    struct Message { /* of the channel */
        enum Kind {
            recover,
            recovered,
            data
        } kind;
        uint32_t epoch;
        core::RecoveryPath path;
        uint32_t number; /* position, or that of the data */
        uint32_t queue_pair;
    };

    struct Flying { /* over RDMA */
        uint32_t queue_pair; /* that it is for */
        uint32_t number;
    };

    struct End {
        End(const core::RecoveryConfig &config, uint64_t seed) : recovery(config, seed)
        {
        }

        core::Recovery recovery;
        core::ReceiveSequence received;
        Message said{}; /* own Recover */
        Message theirs{};
        uint32_t next       = 0; /* to send */
        uint32_t queue_pair = 0; /* own; 0: none that can receive */
        uint32_t fresh      = 0; /* own, not connected yet */
        uint32_t connected  = 0; /* the peer's */
        bool draining       = false;
        bool rewiring       = false;
        bool device         = true;
        std::deque<Flying> arriving;
        std::deque<Message> inbox;
    };

    bool chance(unsigned one_in);
    void act(End &end, core::RecoverySteps steps);
    void say(End &end, const Message &message);
    void hear(End &end);
    void land(End &end, uint32_t number);
    void send(End &end);
    void drain(End &end);
    void rewire(End &end);
    void fault(End &end);
    void channel(End &end);
    void fail(const End &end, const std::string &what);
    End &peer_of(const End &end);

    RecoveryWorldConfig m_config;
    std::mt19937_64 m_random;
    std::array<End, 2> m_ends;
    uint64_t m_now         = 0;
    uint32_t m_queue_pairs = 0;
    bool m_channel         = true;
    std::string m_error;
};

} // namespace be::test
