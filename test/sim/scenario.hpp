// SPDX-License-Identifier: BSD-3-Clause
//
// The scenarios that policies are compared in.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "result.hpp"
#include "world.hpp"

namespace be::sim {

struct Options {
    Policy policy = Policy::product;
    uint64_t seed = 1;
    FabricConfig fabric; /* hosts and spines are the scenario's */
    bool messages_first = true; /* of the product: on a service level of their own */
    std::string trace;
};

struct Scenario {
    std::string name;
    std::string about;
    std::function<Result(const Options &)> run;
    Bounds bounds; /* for the product */
    bool small; /* seconds rather than minutes */
};

/* All of them, in the order of the table. */
const std::vector<Scenario> &scenarios();

/* --- what scenarios share --- */

/* A world for so many hosts; oversubscription n: n hosts of a leaf share an uplink. */
WorldConfig
world_config(const Options &options, uint32_t hosts, uint32_t oversubscription = 1);

/* Small messages at random times on links of a list: what others' load does to them. */
class Victims {
public:
    Victims(World &world, std::vector<Link> links, double mean_us);

    /* Sends from now until `end`. */
    void start(Time end);

    static constexpr int tag       = 9;
    static constexpr int64_t bytes = 64;

private:
    void next();

    World &m_world;
    std::vector<Link> m_links;
    double m_mean_us;
    Time m_end = 0;
};

/* Measures a world from begin() to the result. */
class Meter {
public:
    explicit Meter(World &world);

    /* Victims that started before do not count. */
    void begin();

    /* Payload that `hosts` received since begin(), as part of what their ports carry. */
    double goodput(const std::vector<uint32_t> &hosts) const;

    /* Of payload that came by these links since begin(). */
    double fairness(const std::vector<Link> &links) const;

    /* Fills in everything but goodput and fairness; transfers of `tag` are the load. */
    Result result(int tag) const;

    Time begun() const
    {
        return m_begun;
    }

private:
    World &m_world;
    Time m_begun     = 0;
    uint32_t m_first = 0; /* transfer */
    std::vector<int64_t> m_received;
    std::vector<int64_t> m_delivered;
    std::vector<Link> m_links;
    double m_clock = 0;
};

/* --- by file --- */

std::vector<Scenario> incast_scenarios();
std::vector<Scenario> service_scenarios(); /* parameter server, mice, slow receiver */
std::vector<Scenario> peer_scenarios(); /* idle, joining and dying peers */
std::vector<Scenario> mesh_scenarios(); /* hot senders, all to all */
std::vector<Scenario> lone_scenarios();

} // namespace be::sim
