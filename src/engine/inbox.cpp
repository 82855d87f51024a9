// SPDX-License-Identifier: BSD-3-Clause

#include "engine/inbox.hpp"

#include "core/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace be::engine {
namespace {

// Bytes that may wait before connections are not read any more: a few of the largest frames of each of a few.
constexpr std::size_t most_waiting = 1u << 20;

// Bytes from which on they are kept where they have arrived: that is a block of that size, and what waits would be far
// more than is counted if little of it were used.
constexpr std::size_t least_kept = control::BlockCache::block_size / 2;

constexpr std::size_t cache_line = 64;
static_assert(control::BlockCache::alignment % cache_line == 0);

// May a peer send as many of these as it likes?
constexpr bool is_unlimited(ControlEvent::Kind kind) noexcept
{
    return kind == ControlEvent::Kind::data || kind == ControlEvent::Kind::recover ||
           kind == ControlEvent::Kind::recovered;
}

} // namespace

Inbox::Inbox() : m_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
    if (m_fd < 0) {
        throw std::system_error(errno, std::system_category(),
                                "cannot create an eventfd");
    }
}

Inbox::~Inbox()
{
    ::close(m_fd);
}

void Inbox::take(std::vector<ControlEvent> &out)
{
    std::vector<control::ConnectionId> paused;
    {
        const std::lock_guard lock(m_mutex);
        m_events.swap(out);
        paused  = std::exchange(m_paused, {});
        m_bytes = 0;
        m_pending.store(false, std::memory_order_relaxed);
        eventfd_t ignored;
        (void)::eventfd_read(m_fd, &ignored);
    }
    for (const control::ConnectionId id : paused) {
        m_node->pause_reading(id, false);
    }
}

void Inbox::push(ControlEvent event)
{
    const control::ConnectionId id = event.connection;
    bool pause                     = false;
    {
        const std::lock_guard lock(m_mutex);
        if (is_unlimited(event.kind)) {
            m_bytes += sizeof(event) + event.data.payload.size();
            pause = m_bytes > most_waiting &&
                    std::find(m_paused.begin(), m_paused.end(), id) == m_paused.end();
        }
        if (pause) {
            m_paused.push_back(id);
        }
        m_events.push_back(std::move(event));
        if (!m_pending.exchange(true, std::memory_order_relaxed)) {
            (void)::eventfd_write(m_fd, 1); // take() reads it
        }
    }
    if (pause) {
        m_node->pause_reading(id, true);
    }
}

void Inbox::on_connect(control::ConnectionId id, const control::ConnectInfo &peer)
{
    push({.kind = ControlEvent::Kind::connect, .connection = id, .info = peer});
}

void Inbox::on_accept(control::ConnectionId id, const control::ConnectInfo &peer)
{
    push({.kind = ControlEvent::Kind::accept, .connection = id, .info = peer});
}

void Inbox::on_ready(control::ConnectionId id)
{
    push({.kind = ControlEvent::Kind::ready, .connection = id});
}

void Inbox::on_closed(control::ConnectionId id, control::Reason reason,
                      const std::string &detail)
{
    push({.kind       = ControlEvent::Kind::closed,
          .connection = id,
          .reason     = reason,
          .detail     = detail});
}

void Inbox::on_recover(control::ConnectionId id, const control::RecoverInfo &peer)
{
    push({.kind = ControlEvent::Kind::recover, .connection = id, .recover = peer});
}

void Inbox::on_recovered(control::ConnectionId id, std::uint32_t epoch)
{
    push({.kind = ControlEvent::Kind::recovered, .connection = id, .epoch = epoch});
}

void Inbox::on_probed(control::ProbeId id, control::ProbeResult result)
{
    push({.kind = ControlEvent::Kind::probed, .connection = id, .result = result});
}

void Inbox::on_device(const verbs::AsyncEvent &event)
{
    push({.kind = ControlEvent::Kind::device, .device = event});
}

void Inbox::on_data(control::ConnectionId id, const control::DataView &data,
                    control::Block &memory)
{
    ControlEvent event{.kind       = ControlEvent::Kind::data,
                       .connection = id,
                       .epoch      = data.epoch};
    TcpArrival &arrival = event.data;
    arrival.error = decode(data.kind, data.header, data.payload.size(), arrival.frame);
    if (arrival.error.empty() && data.payload.size() >= least_kept &&
        arrival.frame.kind != TcpFrame::Kind::message) {
        arrival.payload = {memory.get() + (reinterpret_cast<const std::byte *>(
                                                   data.payload.data()) -
                                           memory.get()),
                           data.payload.size()};
        arrival.memory  = std::move(memory);
    } else if (arrival.error.empty() && !data.payload.empty()) {
        const std::size_t front = cache_line - core::data_header_size;
        arrival.memory          = control::take_block(front + data.payload.size());
        arrival.payload         = {arrival.memory.get() + front, data.payload.size()};
        std::memcpy(arrival.payload.data(), data.payload.data(), data.payload.size());
    }
    push(std::move(event));
}

void Inbox::on_writable(control::ConnectionId id)
{
    push({.kind = ControlEvent::Kind::writable, .connection = id});
}

} // namespace be::engine
