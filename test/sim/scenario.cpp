// SPDX-License-Identifier: BSD-3-Clause

#include "scenario.hpp"

#include <chrono>

namespace be::sim {

namespace {

double wall_clock()
{
    using namespace std::chrono;

    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

const std::vector<Scenario> &scenarios()
{
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> list;

        for (auto part : {lone_scenarios, incast_scenarios, service_scenarios,
                          peer_scenarios, mesh_scenarios}) {
            for (Scenario &scenario : part()) {
                list.push_back(std::move(scenario));
            }
        }
        return list;
    }();

    return all;
}

WorldConfig
world_config(const Options &options, uint32_t hosts, uint32_t oversubscription)
{
    WorldConfig config;

    config.fabric             = options.fabric;
    config.fabric.hosts       = hosts;
    config.fabric.spines      = config.fabric.per_leaf / oversubscription;
    config.policy.policy      = options.policy;
    config.policy.gbps        = options.fabric.gbps;
    config.nic.messages_first = options.messages_first &&
                                (options.policy == Policy::product);
    config.seed  = options.seed;
    config.trace = options.trace;
    return config;
}

/* --- victims --- */

Victims::Victims(World &world, std::vector<Link> links, double mean_us) :
    m_world(world), m_links(std::move(links)), m_mean_us(mean_us)
{
}

void Victims::start(Time end)
{
    m_end = end;
    next();
}

void Victims::next()
{
    Time delay = static_cast<Time>(m_world.random.exponential(m_mean_us) * microsecond);

    if (m_world.now() + delay < m_end) {
        m_world.after(delay, [this] {
            m_world.start(
                    m_links[m_world.random.below(static_cast<uint32_t>(m_links.size()))],
                    64, Operation::send, tag);
            next();
        });
    }
}

/* --- meter --- */

Meter::Meter(World &world) : m_world(world), m_clock(wall_clock())
{
}

void Meter::begin()
{
    m_begun = m_world.now();
    m_first = static_cast<uint32_t>(m_world.transfers().size());
    m_received.clear();
    for (uint32_t host = 0; host < m_world.hosts(); ++host) {
        m_received.push_back(m_world.received(host));
    }
    m_delivered.clear();
    for (Link link = 0; link < m_world.links(); ++link) {
        m_delivered.push_back(m_world.delivered(link));
    }
}

double Meter::goodput(const std::vector<uint32_t> &hosts) const
{
    double bytes = 0;

    for (uint32_t host : hosts) {
        bytes += static_cast<double>(m_world.received(host) - m_received[host]);
    }
    return bytes * static_cast<double>(m_world.nic().fabric().byte_time()) /
           static_cast<double>(m_world.now() - m_begun) / hosts.size();
}

double Meter::fairness(const std::vector<Link> &links) const
{
    std::vector<double> shares;

    for (Link link : links) {
        shares.push_back(
                static_cast<double>(m_world.delivered(link) - m_delivered[link]));
    }
    return jain(shares);
}

Result Meter::result(int tag) const
{
    Result result;
    std::vector<double> load, victims;
    FabricCounters fabric = m_world.nic().fabric().counters();

    for (uint32_t i = 0; i < m_world.transfers().size(); ++i) {
        const Transfer &transfer = m_world.transfers()[i];
        double us = static_cast<double>(transfer.end - transfer.start) / microsecond;

        if (transfer.end < 0) {
            /* A victim that never ended waited until now at least. */
            us = static_cast<double>(m_world.now() - transfer.start) / microsecond;
            if (transfer.tag != Victims::tag) {
                continue;
            }
        }
        if (transfer.tag == tag) {
            load.push_back(us);
        } else if ((transfer.tag == Victims::tag) && (i >= m_first)) {
            victims.push_back(us);
        }
    }
    m_world.check();
    result.transfer_us = percentiles(std::move(load));
    result.victim_us   = percentiles(std::move(victims));
    result.idle_us     = static_cast<double>(m_world.idle_latency(Victims::bytes)) /
                     microsecond;
    result.pauses      = fabric.pauses;
    result.pause_us    = static_cast<double>(fabric.pause_time) / microsecond;
    result.rnr         = m_world.nic().rnr_naks();
    result.max_ingress = fabric.max_ingress;
    result.max_buffer  = fabric.max_buffer;
    result.driver      = m_world.counters();
    result.events      = m_world.nic().fabric().events();
    result.seconds     = wall_clock() - m_clock;
    return result;
}

} // namespace be::sim
