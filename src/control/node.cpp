// SPDX-License-Identifier: BSD-3-Clause

#include "control/node.hpp"

#include "control/process.hpp"
#include "control/reactor.hpp"

#include <stdexcept>
#include <system_error>
#include <vector>

namespace be::control {

namespace {

// Guarded by the process mutex; never destroyed.
struct Current {
    std::weak_ptr<Node> node;
    unsigned generation = 0;

    // Reactors of ancestor processes, kept so that nothing of theirs is touched.
    std::vector<std::shared_ptr<Reactor>> inherited;
};

Current &current()
{
    static auto *instance = new Current;
    return *instance;
}

Address parse_ip(const std::string &text)
{
    auto address = Address::parse(text);
    if (!address || (address->port != 0)) {
        throw std::invalid_argument("control channel: cannot listen on '" + text +
                                    "', expected an IPv4 or IPv6 address");
    }
    return *address;
}

template<class Info>
void check(const Info &info)
{
    auto problem = validate(info);
    if (!problem.empty()) {
        throw std::invalid_argument("control channel: " + problem);
    }
}

void check(const Address &remote, std::uint64_t fabric_id)
{
    if ((remote.port == 0) || remote.is_unspecified()) {
        throw std::invalid_argument("control channel: cannot connect to " +
                                    remote.to_string() +
                                    ", expected the address and port of a host");
    }
    if (fabric_id == 0) {
        throw std::invalid_argument("control channel: cannot connect to fabric 0 at " +
                                    remote.to_string() + ", expected its id");
    }
}

} // namespace

std::shared_ptr<Node> Node::acquire()
{
    initialize_auth();
    initialize_process();

    std::lock_guard lock(process_mutex());
    auto &known = current();
    if (known.generation == process_generation()) {
        if (auto node = known.node.lock()) {
            return node;
        }
    }

    std::shared_ptr<Node> node(new Node);
    known.node       = node;
    known.generation = process_generation();
    return node;
}

Node::Node() : m_reactor(std::make_shared<Reactor>()), m_generation(process_generation())
{
    try {
        m_reactor->start();
    } catch (const std::system_error &error) {
        throw std::system_error(error.code(),
                                "control channel: cannot start the control thread");
    }
}

Node::~Node()
{
    if (is_inherited()) {
        std::lock_guard lock(process_mutex());
        current().inherited.push_back(std::move(m_reactor));
    } else {
        m_reactor->stop();
    }
}

bool Node::is_inherited() const noexcept
{
    return m_generation != process_generation();
}

void Node::refuse_if_inherited() const
{
    if (is_inherited()) {
        throw std::system_error(ECHILD, std::system_category(),
                                "control channel: this node belongs to the parent "
                                "process, acquire a new one after fork()");
    }
}

Address Node::listen(const std::string &bind_ip, const ListenOptions &options)
{
    refuse_if_inherited();
    return m_reactor->listen(parse_ip(bind_ip), options);
}

void Node::attach(const Identity &identity, Sink *sink, const Settings &settings)
{
    refuse_if_inherited();
    if ((identity.fabric_id == 0) || (sink == nullptr)) {
        throw std::invalid_argument("control channel: cannot attach fabric " +
                                    std::to_string(identity.fabric_id) +
                                    ", expected an id other than 0 and a sink");
    }
    m_reactor->attach(identity, sink, settings);
}

void Node::detach(std::uint64_t fabric_id)
{
    if (!is_inherited()) {
        m_reactor->detach(fabric_id);
    }
}

ConnectionId Node::connect(std::uint64_t local_fabric, const Address &remote,
                           const Identity &remote_identity, const ConnectInfo &mine)
{
    refuse_if_inherited();
    check(remote, remote_identity.fabric_id);
    check(mine);
    if (mine.fabric_id != local_fabric) {
        throw std::invalid_argument(
                "control channel: connect from fabric " + std::to_string(local_fabric) +
                " with the end of fabric " + std::to_string(mine.fabric_id));
    }
    return m_reactor->connect(local_fabric, remote, remote_identity, mine);
}

ProbeId Node::probe(std::uint64_t local_fabric, const Address &remote,
                    std::uint64_t remote_fabric)
{
    refuse_if_inherited();
    check(remote, remote_fabric);
    return m_reactor->probe(local_fabric, remote, remote_fabric);
}

void Node::accept(ConnectionId id, const ConnectInfo &mine)
{
    check(mine);
    if (!is_inherited()) {
        m_reactor->accept(id, mine);
    }
}

void Node::ready(ConnectionId id)
{
    if (!is_inherited()) {
        m_reactor->ready(id);
    }
}

void Node::recover(ConnectionId id, const RecoverInfo &mine)
{
    check(mine);
    if (!is_inherited()) {
        m_reactor->recover(id, mine);
    }
}

void Node::recovered(ConnectionId id, std::uint32_t epoch)
{
    if (!is_inherited()) {
        m_reactor->recovered(id, epoch);
    }
}

bool Node::data(ConnectionId id, const DataView &data)
{
    check(data);
    return is_inherited() || m_reactor->data(id, data);
}

void Node::pause_reading(ConnectionId id, bool paused)
{
    if (!is_inherited()) {
        m_reactor->pause_reading(id, paused);
    }
}

void Node::poll() noexcept
{
    if (!is_inherited()) {
        m_reactor->poll();
    }
}

void Node::rest() noexcept
{
    if (!is_inherited()) {
        m_reactor->rest();
    }
}

void Node::refuse(ConnectionId id, Reason reason, const std::string &text)
{
    if (!is_inherited()) {
        m_reactor->refuse(id, reason, text);
    }
}

void Node::close(ConnectionId id, bool goodbye)
{
    if (!is_inherited()) {
        m_reactor->close(id, goodbye);
    }
}

void Node::watch(int fd, std::function<void()> readable)
{
    refuse_if_inherited();
    m_reactor->watch(fd, std::move(readable));
}

void Node::unwatch(int fd)
{
    if (!is_inherited()) {
        m_reactor->unwatch(fd);
    }
}

Counters Node::counters() const noexcept
{
    return m_reactor->counters();
}

} // namespace be::control
