// SPDX-License-Identifier: BSD-3-Clause
//
// A channel's connection: which address, when, and what if it fails.
#include "adapter/channel_state.hpp"

#include <algorithm>
#include <utility>

namespace be::adapter {

void ChannelState::connect()
{
    if ((m_current != nullptr) || m_closed || m_worker->stopped() ||
        (m_queue.empty() && m_bulk_queue.empty())) {
        return;
    }
    const size_t address  = m_next;
    auto connection       = std::make_shared<Connection>(shared_from_this(), address);
    const std::string why = connection->open();
    if (why.empty()) {
        m_current = std::move(connection);
    } else {
        counters.failures.add();
        not_connected(address, why, false);
    }
}

void ChannelState::on_ready(Connection &connection)
{
    uint64_t &known = m_incarnations[connection.address()];

    if (m_current.get() != &connection) {
        return;
    }
    counters.connects.add();
    if ((known != 0) && (known != connection.incarnation())) {
        counters.restarts.add();
    }
    known = connection.incarnation();
    pump();
}

void ChannelState::on_answer(Connection &connection)
{
    if (m_current.get() == &connection) {
        m_tried  = 0;
        m_rounds = 0;
    }
}

void ChannelState::on_draining(Connection &connection)
{
    if (m_current.get() == &connection) {
        m_current.reset();
        m_next = (connection.address() + 1) % m_addresses.size();
        connect();
    }
}

void ChannelState::on_failed(Connection &connection, const std::string &why,
                             bool was_ready)
{
    if (m_current.get() == &connection) {
        counters.failures.add();
        m_current.reset();
        not_connected(connection.address(), why, was_ready);
    }
}

// The next address; a pause when all of them have failed since the last answer.
void ChannelState::not_connected(size_t address, const std::string &why, bool was_ready)
{
    m_next = (address + 1) % m_addresses.size();
    if (m_closed || m_worker->stopped()) {
        return;
    }
    if (++m_tried < m_addresses.size()) {
        connect();
        return;
    }
    m_tried = 0;
    m_rounds++;
    if (!was_ready) {
        count_round(m_options.addresses[address] + ": " + why);
    }
    if (!m_queue.empty() || !m_bulk_queue.empty()) {
        m_worker->timers.add(m_backoff, Clock::now() + backoff(m_rounds - 1));
    }
}

// All addresses have failed: that was an attempt of each call that waits for one.
void ChannelState::count_round(const std::string &why)
{
    for (std::list<CallState *> *queue : {&m_queue, &m_bulk_queue}) {
        for (auto at = queue->begin(); at != queue->end();) {
            CallState &call = **at++;
            if (++call.reply.attempts >= call.options.max_attempts) {
                end(call, Status::unreachable, why);
            }
        }
    }
}

// Twice as long each time, and half of it at random: those that failed together do not
// come back together.
Clock::duration ChannelState::backoff(unsigned turn)
{
    const auto most = m_options.max_backoff;
    const auto base = std::min<Clock::duration>(most, m_options.min_backoff *
                                                              (int64_t{1}
                                                               << std::min(turn, 20u)));
    std::uniform_real_distribution<double> factor(0.5, 1.5);
    return std::chrono::duration_cast<Clock::duration>(base * factor(m_random));
}

void ChannelState::close()
{
    m_worker->residents.erase(this);
    on_stop();
    if (m_current != nullptr) {
        const auto connection = std::exchange(m_current, nullptr);
        m_worker->close(*connection);
    }
}

void ChannelState::on_stop()
{
    m_closed = true;
    m_backoff.clear();
    while (m_active != nullptr) {
        end(*m_active, Status::closed, "the channel or its runtime was closed");
    }
}

} // namespace be::adapter
