// SPDX-License-Identifier: BSD-3-Clause

#include "recorder.hpp"

#include "samples.hpp"

#include <stdexcept>
#include <utility>

namespace be::control::test {

Recorder::Recorder(std::shared_ptr<Node> node, const Address &port,
                   const Settings &settings) :
    m_node(std::move(node)), m_port(port), m_identity(random_identity())
{
    respond = [this](const Happening &happening) {
        if (happening.kind == Happening::Kind::connect) {
            m_node->accept(happening.id, info());
        } else if (happening.kind == Happening::Kind::accept) {
            m_node->ready(happening.id);
        }
    };
    m_node->attach(m_identity, this, settings);
}

Recorder::~Recorder()
{
    detach();
}

void Recorder::detach()
{
    if (std::exchange(m_attached, false)) {
        m_node->detach(m_identity.fabric_id);
    }
}

ConnectionId Recorder::connect(const Address &address, const Identity &other)
{
    return m_node->connect(m_identity.fabric_id, address, other, info());
}

ConnectInfo Recorder::info() const
{
    auto info    = sample_info(m_identity.fabric_id);
    info.control = m_port;
    return info;
}

Happening Recorder::next()
{
    std::unique_lock lock(m_mutex);

    if (!m_changed.wait_for(lock, patience, [this] { return !m_happenings.empty(); })) {
        throw std::runtime_error("nothing has happened");
    }

    auto happening = std::move(m_happenings.front());
    m_happenings.pop_front();
    return happening;
}

Happening Recorder::next(Happening::Kind kind)
{
    auto happening = next();

    if (happening.kind != kind) {
        throw std::runtime_error("something else has happened: kind " +
                                 std::to_string(static_cast<int>(happening.kind)) + " " +
                                 happening.detail);
    }
    return happening;
}

bool Recorder::is_quiet()
{
    std::lock_guard lock(m_mutex);
    return m_happenings.empty();
}

void Recorder::on_connect(ConnectionId id, const ConnectInfo &peer)
{
    record({Happening::Kind::connect, id, peer});
}

void Recorder::on_accept(ConnectionId id, const ConnectInfo &peer)
{
    record({Happening::Kind::accept, id, peer});
}

void Recorder::on_ready(ConnectionId id)
{
    record({Happening::Kind::ready, id});
}

void Recorder::on_recover(ConnectionId id, const RecoverInfo &peer)
{
    record({.kind = Happening::Kind::recover, .id = id, .recover = peer});
}

void Recorder::on_recovered(ConnectionId id, std::uint32_t epoch)
{
    Happening happening{.kind = Happening::Kind::recovered, .id = id};

    happening.recover.epoch = epoch;
    record(std::move(happening));
}

void Recorder::on_probed(ProbeId id, ProbeResult result)
{
    record({.kind = Happening::Kind::probed, .id = id, .probe = result});
}

void Recorder::on_data(ConnectionId id, const DataView &data, Block &memory)
{
    if (keeps_memory) { // before it is read: that is what it is kept for
        m_kept.push_back(std::move(memory));
    }
    Happening happening{.kind      = Happening::Kind::data,
                        .id        = id,
                        .data_kind = data.kind,
                        .header    = {data.header.begin(), data.header.end()},
                        .payload   = {data.payload.begin(), data.payload.end()}};

    happening.recover.epoch = data.epoch;
    record(std::move(happening));
}

void Recorder::on_writable(ConnectionId id)
{
    record({.kind = Happening::Kind::writable, .id = id});
}

void Recorder::on_closed(ConnectionId id, Reason reason, const std::string &detail)
{
    record({Happening::Kind::closed, id, {}, reason, detail});
}

void Recorder::record(Happening happening)
{
    respond(happening);

    std::lock_guard lock(m_mutex);
    m_happenings.push_back(std::move(happening));
    m_changed.notify_all();
}

} // namespace be::control::test
