// SPDX-License-Identifier: BSD-3-Clause

#include "recovery_world.hpp"

#include <sstream>

namespace be::test {

using namespace core;
using Step = RecoveryStep;

RecoveryWorld::RecoveryWorld(const RecoveryWorldConfig &config, uint64_t seed) :
    m_config(config),
    m_random(seed),
    m_ends{End(config.recovery, seed), End(config.recovery, seed + 1)}
{
    for (End &end : m_ends) {
        end.queue_pair = ++m_queue_pairs;
    }
    for (End &end : m_ends) {
        end.connected = peer_of(end).queue_pair;
        if (config.first_epoch != 0) { /* as if there had been that many */
            end.recovery.recover(config.first_epoch, RecoveryPath::rdma, m_now);
            end.recovery.drained(m_now);
            end.recovery.rewired(m_now);
            end.recovery.recovered(config.first_epoch, m_now);
        }
    }
}

void RecoveryWorld::step()
{
    End &end = m_ends[m_random() % 2];

    m_now += m_random() % 100;
    switch (m_random() % 10) {
    case 0:
        act(end, end.recovery.connected(m_now));
        break;
    case 1:
        drain(end);
        break;
    case 2:
        rewire(end);
        break;
    case 3:
        if (end.recovery.due_ns() <= m_now || end.recovery.waits_for_permission()) {
            act(end, end.recovery.tick(m_now, chance(2)));
        }
        break;
    case 4:
        if (!end.recovery.channel_is_lost() && !end.inbox.empty()) {
            hear(end);
        }
        break;
    case 5:
        channel(end);
        break;
    case 6:
        if (chance(8)) {
            fault(end);
        }
        break;
    case 7:
        if (!end.arriving.empty()) {
            Flying message = end.arriving.front();

            end.arriving.pop_front();
            if (message.queue_pair == end.queue_pair) {
                land(end, message.number);
            }
        }
        break;
    default:
        send(end);
    }
}

bool RecoveryWorld::finished() const
{
    const Recovery &a = m_ends[0].recovery;
    const Recovery &b = m_ends[1].recovery;
    bool all          = true;

    for (const End &end : m_ends) {
        all = all && (end.received.expected() == m_config.messages) && end.device &&
              !end.recovery.channel_is_lost() && end.inbox.empty();
    }
    return all && (m_config.failures + m_config.cuts + m_config.losses == 0) &&
           (a.state() == RecoveryState::ready) && (b.state() == RecoveryState::ready) &&
           (a.epoch() == b.epoch());
}

std::string RecoveryWorld::describe() const
{
    std::ostringstream text;

    for (const End &end : m_ends) {
        text << to_string(end.recovery.state()) << " epoch " << end.recovery.epoch()
             << ", sent " << end.next << ", received " << end.received.expected() << "; ";
    }
    return text.str();
}

bool RecoveryWorld::chance(unsigned one_in)
{
    return m_random() % one_in == 0;
}

RecoveryWorld::End &RecoveryWorld::peer_of(const End &end)
{
    return (&end == &m_ends[0]) ? m_ends[1] : m_ends[0];
}

void RecoveryWorld::fail(const End &end, const std::string &what)
{
    if (m_error.empty()) {
        m_error = "end " + std::to_string(&end - m_ends.data()) + ": " + what + "; " +
                  describe();
    }
}

void RecoveryWorld::act(End &end, RecoverySteps steps)
{
    const Recovery &recovery = end.recovery;

    if (steps.has(Step::drain)) {
        end.draining = true;
        end.rewiring = false;
    }
    if (steps.has(Step::send_recover)) {
        if ((end.fresh == 0) || (end.said.epoch != recovery.epoch())) {
            end.fresh = ++m_queue_pairs;
            end.said  = {Message::recover, recovery.epoch(), recovery.path(),
                         end.received.expected(), end.fresh};
        }
        say(end, end.said);
    }
    if (steps.has(Step::rewire)) {
        end.rewiring = true;
    }
    if (steps.has(Step::send_recovered)) {
        say(end, {Message::recovered, recovery.epoch(), recovery.path(), 0, 0});
    }
    if (steps.has(Step::resume)) {
        end.next = end.theirs.number;
    }
    if (steps.has(Step::die)) {
        fail(end, std::string("died: ") + to_string(recovery.reason()));
    }
}

void RecoveryWorld::say(End &end, const Message &message)
{
    if (end.recovery.channel_is_lost()) {
        fail(end, "speaks without a channel");
    }
    if (m_channel) {
        peer_of(end).inbox.push_back(message);
    }
}

void RecoveryWorld::hear(End &end)
{
    Message message    = end.inbox.front();
    Recovery &recovery = end.recovery;

    end.inbox.pop_front();
    switch (message.kind) {
    case Message::recover: {
        RecoverySteps steps = recovery.recover(message.epoch, message.path, m_now);

        if (message.epoch == recovery.epoch()) {
            end.theirs = message;
        }
        act(end, steps);
        break;
    }
    case Message::recovered:
        act(end, recovery.recovered(message.epoch, m_now));
        break;
    case Message::data:
        if (recovery.state() == RecoveryState::tcp) {
            land(end, message.number);
        }
    }
}

/* Not only delivered once: it does not even arrive twice. */
void RecoveryWorld::land(End &end, uint32_t number)
{
    if (end.received.accept(number) != SequenceVerdict::in_order) {
        fail(end, "message " + std::to_string(number) + " arrives");
    }
}

void RecoveryWorld::send(End &end)
{
    End &peer = peer_of(end);

    if (end.next == m_config.messages) {
        return;
    }
    if (end.recovery.state() == RecoveryState::tcp) {
        say(end, {Message::data, end.recovery.epoch(), RecoveryPath::tcp, end.next++, 0});
    } else if (end.recovery.state() == RecoveryState::ready) {
        if ((peer.recovery.epoch() == end.recovery.epoch()) &&
            (peer.queue_pair != end.connected)) {
            fail(end, "sends to a queue pair that is not connected");
        }
        peer.arriving.push_back({end.connected, end.next++});
    }
}

/* What arrived meanwhile has arrived; the rest is lost. */
void RecoveryWorld::drain(End &end)
{
    if (end.draining) {
        end.draining   = false;
        end.queue_pair = 0;
        end.fresh      = 0;
        end.arriving.clear();
        act(end, end.recovery.drained(m_now));
    }
}

void RecoveryWorld::rewire(End &end)
{
    if (!end.rewiring) {
        return;
    }
    end.rewiring = false;
    if ((m_config.failures > 0) && chance(4)) {
        --m_config.failures;
        act(end, end.recovery.failed(m_now));
        return;
    }
    end.queue_pair = end.fresh;
    end.connected  = end.theirs.queue_pair;
    act(end, end.recovery.rewired(m_now));
}

void RecoveryWorld::fault(End &end)
{
    if (!end.device) {
        end.device = true;
        act(end, end.recovery.device_back(m_now));
    } else if ((m_config.losses > 0) && chance(3)) {
        --m_config.losses;
        end.device = false;
        act(end, end.recovery.no_device(m_now));
        act(end, end.recovery.failed(m_now));
    } else if (m_config.failures > 0) {
        --m_config.failures;
        act(end, end.recovery.failed(m_now));
    }
}

void RecoveryWorld::channel(End &end)
{
    const End &peer = peer_of(end);

    if (m_channel && (m_config.cuts > 0) && chance(16)) {
        --m_config.cuts;
        m_channel = false;
        for (End &each : m_ends) {
            each.inbox.clear();
        }
    } else if (!m_channel && !end.recovery.channel_is_lost()) {
        act(end, end.recovery.channel_lost(m_now));
    } else if (!m_channel && peer.recovery.channel_is_lost()) {
        m_channel = true;
    } else if (m_channel && end.recovery.channel_is_lost()) {
        act(end, end.recovery.channel_back(m_now));
    }
}

} // namespace be::test
