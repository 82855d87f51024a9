// SPDX-License-Identifier: BSD-3-Clause

#include "world.hpp"

#include <algorithm>

namespace be::sim {

void DriverCounters::add(const DriverCounters &other)
{
    cells += other.cells;
    notices += other.notices;
    revokes += other.revokes;
    late += other.late;
    suspects += other.suspects;
    max_messages = std::max(max_messages, other.max_messages);
    max_bytes    = std::max(max_bytes, other.max_bytes);
    for (std::size_t i = 0; i < std::size(stall_ns); ++i) {
        stall_ns[i] += other.stall_ns[i];
    }
}

World::World(const WorldConfig &config) :
    random(config.seed), m_config(config), m_nic(config.fabric, config.nic, *this)
{
    m_config.fabric = m_nic.fabric().config();
    m_hosts.resize(m_config.fabric.hosts);
    for (uint32_t host = 0; host < m_hosts.size(); ++host) {
        m_hosts[host].driver = make_driver(m_config.policy, *this, host,
                                           (host == 0) ? m_config.trace : "");
        m_nic.add_receives(host, m_config.policy.receives);
    }
}

World::~World() = default;

Link World::connect(uint32_t from, uint32_t to)
{
    Link link = static_cast<Link>(m_delivered.size());

    m_nic.add_link(from, to);
    m_nic.add_link(to, from);
    m_delivered.resize(link + 2, 0);
    m_hosts[from].driver->join(link);
    m_hosts[to].driver->join(link ^ 1);
    m_hosts[to].driver->welcome(link ^ 1, m_hosts[from].driver->hello(link));
    m_hosts[from].driver->welcome(link, m_hosts[to].driver->hello(link ^ 1));
    return link;
}

uint32_t World::start(Link link, int64_t bytes, Operation operation, int tag)
{
    uint32_t number = static_cast<uint32_t>(m_transfers.size());

    m_transfers.push_back({.link = link, .size = bytes, .tag = tag, .start = now()});
    ++m_pending;
    m_hosts[host_of(link)].driver->submit(link, number, bytes, operation);
    return number;
}

void World::run_until(Time until)
{
    m_nic.fabric().run(until);
}

bool World::run_to_end(Time limit)
{
    while ((m_pending != 0) && (now() < limit)) {
        run_until(std::min(limit, now() + 20 * microsecond));
    }
    return m_pending == 0;
}

void World::after(Time delay, std::function<void()> function)
{
    uint32_t slot;

    if (m_free_calls.empty()) {
        slot = static_cast<uint32_t>(m_calls.size());
        m_calls.emplace_back();
    } else {
        slot = m_free_calls.back();
        m_free_calls.pop_back();
    }
    m_calls[slot] = std::move(function);
    m_nic.fabric().at(now() + delay, call, slot);
}

void World::kill(uint32_t host)
{
    m_nic.kill(host);
}

void World::declare_dead(uint32_t host)
{
    for (Link link = 0; link < m_delivered.size(); ++link) {
        if ((m_nic.destination(link) == host) && !m_nic.dead(host_of(link))) {
            m_hosts[host_of(link)].driver->leave(link);
        }
    }
}

void World::give_up(Link link)
{
    if (m_nic.dead(m_nic.destination(link))) {
        m_hosts[host_of(link)].driver->leave(link);
    }
}

void World::stop_application(uint32_t host, bool stop)
{
    m_hosts[host].stopped = stop;
    work(host);
}

void World::set_timer(uint32_t host, Time at)
{
    if (at < m_hosts[host].timer_at) {
        m_hosts[host].timer_at = at;
        m_nic.fabric().at(at, timer, host);
    }
}

void World::message_arrived(uint32_t host, uint32_t index)
{
    const Message &message = m_nic.message(index);

    m_hosts[host].received += message.bytes;
    m_delivered[message.link] += message.bytes;
    /* The message stays valid: the ack needs longer than the software. */
    m_nic.fabric().at(now() + m_config.software, message_ready, index, host);
}

void World::message_acked(uint32_t host, const Message &message)
{
    if (message.opcode != Opcode::read_response) {
        m_hosts[host].driver->acked(message);
    }
}

void World::control_arrived(uint32_t host, const Packet &packet)
{
    uint32_t index = m_nic.fabric().allocate();

    m_nic.fabric().packet(index) = packet;
    m_nic.fabric().at(now() + m_config.software, control_ready, index, host);
}

void World::event(const Event &event)
{
    switch (event.kind) {
    case message_ready:
        on_message(event.b, event.a);
        break;
    case control_ready:
        on_control(event.b, event.a);
        break;
    case application_done:
        m_hosts[event.a].busy = false;
        m_hosts[event.a].inbox.pop();
        if (!m_nic.dead(event.a)) {
            m_nic.add_receives(event.a, 1);
            m_hosts[event.a].driver->reposted();
        }
        work(event.a);
        break;
    case timer:
        if (event.at == m_hosts[event.a].timer_at) {
            m_hosts[event.a].timer_at = never;
            if (!m_nic.dead(event.a)) {
                m_hosts[event.a].driver->timer();
            }
        }
        break;
    default: {
        std::function<void()> function = std::move(m_calls[event.a]);

        m_free_calls.push_back(event.a);
        function();
    }
    }
}

void World::on_message(uint32_t index, uint32_t message_index)
{
    Message message = m_nic.message(message_index);
    Host &host      = m_hosts[index];

    if (m_nic.dead(index)) {
        return;
    }
    if (message.opcode == Opcode::send) {
        host.inbox.push(message.bytes);
        work(index);
    }
    host.driver->arrived(message.link ^ 1, message);
    if (message.last) {
        Transfer &transfer = m_transfers[message.flow];

        transfer.end = now();
        m_last_end   = now();
        --m_pending;
        if (m_on_done) {
            m_on_done(message.flow);
        }
    }
}

void World::on_control(uint32_t host, uint32_t index)
{
    Packet packet = m_nic.fabric().packet(index);

    m_nic.fabric().release(index);
    if (!m_nic.dead(host)) {
        m_hosts[host].driver->control((packet.pair / 2) ^ 1, packet);
    }
}

void World::work(uint32_t index)
{
    Host &host = m_hosts[index];

    if (!host.busy && !host.stopped && !host.inbox.empty()) {
        Time cost = static_cast<Time>(m_config.ns_per_byte * host.inbox.front() *
                                      nanosecond);

        host.busy = true;
        m_nic.fabric().at(now() + m_config.per_message + cost, application_done, index);
    }
}

DriverCounters World::counters() const
{
    DriverCounters sum;

    for (const Host &host : m_hosts) {
        sum.add(host.driver->counters());
    }
    return sum;
}

void World::check() const
{
    for (uint32_t host = 0; host < m_hosts.size(); ++host) {
        std::string broken = m_hosts[host].driver->check();

        if (!broken.empty()) {
            throw Broken("host " + std::to_string(host) + ": " + broken);
        }
    }
}

} // namespace be::sim
