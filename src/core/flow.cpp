// SPDX-License-Identifier: BSD-3-Clause

#include "core/flow.hpp"

#include <algorithm>
#include <stdexcept>

namespace be::core {

Flow::Flow(const FlowConfig &config) :
    m_config(config),
    m_pool(config.pool),
    m_bytes(config.bytes),
    m_port(config.window),
    m_scheduler(config.window.quantum)
{
    if (config.active_ns == 0) {
        throw std::invalid_argument("flow active_ns is 0, expected at least 1 ns");
    }
    if (m_bytes.enabled() && (config.window.quantum % config.bytes.unit != 0)) {
        throw std::invalid_argument(
                "window quantum is " + std::to_string(config.window.quantum) +
                " bytes, expected whole units of byte credit, which are " +
                std::to_string(config.bytes.unit) + " bytes");
    }
}

std::optional<uint32_t> Flow::join(uint64_t now_ns)
{
    advance(now_ns);

    std::optional<uint32_t> index = m_pool.join();

    if (!index) {
        return std::nullopt;
    }
    if (*index == m_peers.size()) {
        m_peers.emplace_back(m_config.pool.first_total, m_config.bytes.first_total);
        for (IndexList *list : lists()) {
            list->resize(m_peers.size());
        }
        m_scheduler.resize(2 * m_peers.size());
    } else {
        m_peers[*index] = Peer(m_config.pool.first_total, m_config.bytes.first_total);
    }
    if (m_bytes.enabled()) {
        m_bytes.add(writes_of(*index), now_ns);
        collect_bytes(now_ns);
    }
    return index;
}

std::array<IndexList *, 14> Flow::lists()
{
    return {&m_owing,         &m_requests,    &m_resumes,      &m_returns,
            &m_byte_requests, &m_give_backs,  &m_byte_returns, &m_byte_cells,
            &m_byte_revokes,  &m_suspects,    &m_byte_waits,   &m_wakes,
            &m_wokens,        &m_window_waits};
}

void Flow::leave(uint32_t index, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);

    if (member(index)) {
        Peer &peer = m_peers[index];

        end_stall(peer.credit_stall_ns, peer.counters.credit_stall, now_ns);
        end_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
        end_stall(peer.bytes_stall_ns, peer.counters.bytes_stall, now_ns);
        m_pump_due = m_port.complete(peer.window, peer.window.outstanding()) != 0;
        peer.bulk_queued[0] = peer.bulk_queued[1] = 0;
        update_bulk_active(peer);
        m_scheduler.reset(writes_of(index));
        m_scheduler.reset(reads_of(index));
        for (IndexList *list : lists()) {
            list->erase(index);
        }
        m_departed.add(counters(index));
        m_pool.leave(index);
        if (m_bytes.enabled()) {
            m_bytes.remove(writes_of(index), now_ns);
            m_bytes.remove(reads_of(index), now_ns);
            collect_bytes(now_ns);
        }
    }
    drain(actions);
}

/* --- sending messages --- */

void Flow::blocked(uint32_t index, uint32_t queued, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);

    if (member(index) && (queued != 0)) {
        Peer &peer = m_peers[index];

        if (peer.account.available() != 0) {
            m_resumes.push_back(index); /* credit came before the driver said so */
        } else {
            peer.blocked = true;
            start_stall(peer.credit_stall_ns, peer.counters.credit_stall, now_ns);
            ask_messages(index, queued);
        }
    }
    drain(actions);
}

void Flow::ask_messages(uint32_t index, uint32_t queued)
{
    Peer &peer = m_peers[index];

    if (peer.account.request_due(queued)) {
        peer.account.start_request(queued);
        m_requests.push_back(index);
    }
}

void Flow::cancelled(uint32_t index, uint32_t queued, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);

    if (member(index)) {
        Peer &peer = m_peers[index];

        if (queued == 0) {
            peer.blocked = false;
            end_stall(peer.credit_stall_ns, peer.counters.credit_stall, now_ns);
            drop_waiting(index);
            m_resumes.erase(index);
        }
        m_owing.push_back(index);
        settle_return(index);
    }
    drain(actions);
}

/* Credit that was asked for by cancelled messages goes back, unless queued messages will
 * use it: then it is looked at again later. */
void Flow::settle_return(uint32_t index)
{
    Peer &peer = m_peers[index];

    if ((peer.account.surplus(0) == 0) && !peer.account.request_outstanding()) {
        m_owing.erase(index);
    } else if (!peer.blocked) {
        m_returns.push_back(index);
    }
}

/* --- credit from the peer --- */

void Flow::credit_grew(uint32_t index, uint64_t now_ns)
{
    Peer &peer = m_peers[index];

    end_stall(peer.credit_stall_ns, peer.counters.credit_stall, now_ns);
    if (peer.blocked) {
        peer.blocked = false;
        m_resumes.push_back(index);
    }
}

bool Flow::credit_update(uint32_t index, uint32_t total, uint64_t now_ns,
                         Actions &actions)
{
    bool grew = member(index) && m_peers[index].account.update(total);

    advance(now_ns);
    if (grew) {
        credit_grew(index, now_ns);
    }
    drain(actions);
    return grew;
}

bool Flow::answered(uint32_t index, uint32_t total, uint64_t now_ns, Actions &actions)
{
    bool grew = false;

    advance(now_ns);
    if (member(index)) {
        Peer &peer = m_peers[index];

        grew = peer.account.update(total);
        peer.account.request_answered();
        peer.answered_ns = now_ns;
        if (grew) {
            credit_grew(index, now_ns);
        } else if (peer.blocked) {
            peer.blocked = false; /* the driver tries, fails and asks again */
            m_resumes.push_back(index);
        }
        if (m_owing.contains(index)) {
            settle_return(index);
        }
    }
    drain(actions);
    return grew;
}

void Flow::revoked(uint32_t index, uint32_t keep, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    if (member(index)) {
        Peer &peer = m_peers[index];

        if (!peer.blocked && !peer.account.request_outstanding() &&
            !m_resumes.contains(index)) {
            /* What has just come for a request gets its chance to be used. */
            bool fresh = now_ns - peer.answered_ns < m_config.active_ns;

            peer.account.give_back(fresh ? std::max(keep, peer.account.surplus(0)) :
                                           keep);
        }
        m_give_backs.push_back(index);
    }
    drain(actions);
}

bool Flow::given_back(uint32_t index, uint32_t total28, uint64_t now_ns, Actions &actions)
{
    bool good = false;

    advance(now_ns);
    if (member(index)) {
        good = m_pool.on_returned(index, Serial<notice_value_bits>::widen(
                                                 m_pool.given_back(index), total28));
    }
    drain(actions);
    return good;
}

/* --- receiving messages --- */

Verdict Flow::take_arrival(uint32_t index, uint32_t granted, uint32_t seq,
                           uint64_t now_ns, Actions &actions)
{
    Verdict verdict = Verdict::overdrawn;

    advance(now_ns);

    bool covered = m_pool.on_arrival(index);

    if (member(index)) {
        Peer &peer = m_peers[index];

        ++peer.counters.messages_received;
        if (peer.account.update(granted)) {
            credit_grew(index, now_ns);
        }
        if (!covered) {
            ++peer.counters.overdrafts;
        } else {
            switch (peer.received.accept(seq)) {
            case SequenceVerdict::in_order:
                verdict = Verdict::in_order;
                break;
            case SequenceVerdict::duplicate:
                verdict = Verdict::duplicate;
                ++peer.counters.duplicates;
                break;
            case SequenceVerdict::gap:
                verdict = Verdict::gap;
                ++peer.counters.gaps;
                break;
            }
        }
    } else {
        ++m_departed.overdrafts;
    }
    drain(actions);
    return verdict;
}

void Flow::arrival_unreadable(uint32_t index, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);

    bool covered = m_pool.on_arrival(index);

    if (!member(index)) {
        ++m_departed.overdrafts;
    } else if (!covered) {
        ++m_peers[index].counters.overdrafts;
    }
    drain(actions);
}

void Flow::receive_failed(uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    (void)m_pool.on_arrival(no_peer);
    drain(actions);
}

void Flow::reposted(uint32_t count, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    m_pool.on_repost(count);
    drain(actions);
}

void Flow::request(uint32_t index, uint32_t demand28, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    if (member(index)) {
        ++m_peers[index].counters.requests_received;
        m_pool.on_request(index, Serial<notice_value_bits>::widen(m_pool.granted(index),
                                                                  demand28));
    }
    drain(actions);
}

/* --- time and actions --- */

void Flow::next_period(uint64_t now_ns)
{
    /* A clock that steps back shows as a huge step ahead: harmless, activity is
     * forgotten. */
    if ((now_ns - m_period_start_ns) / 2 >= m_config.active_ns) {
        m_pool.new_period();
    }
    m_pool.new_period();
    m_period_start_ns = now_ns;
}

void Flow::tick(uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    for (uint32_t count = m_owing.size(); count != 0; --count) {
        uint32_t index = m_owing.pop_front();

        m_owing.push_back(index);
        settle_return(index);
    }
    if (m_bytes.enabled()) {
        m_bytes.tick(now_ns);
        collect_bytes(now_ns);
    }
    drain(actions);
}

void Flow::drain(Actions &actions)
{
    if (m_pool.has_output() && !actions.full()) {
        if (uint32_t growth = m_pool.take_growth(); growth != 0) {
            actions.push({Action::post_receives, no_peer, growth});
        }
        drain_credit(actions);
    }
    if (m_bytes.enabled()) {
        drain_bytes(actions);
    }

    while (!m_requests.empty() && !actions.full()) {
        uint32_t index = m_requests.pop_front();

        ++m_peers[index].counters.requests_sent;
        actions.push({Action::send_request, index, m_peers[index].account.demand()});
    }
    while (!m_resumes.empty() && !actions.full()) {
        actions.push({Action::resume, m_resumes.pop_front(), 0});
    }
    while (!m_returns.empty() && !actions.full()) {
        uint32_t index   = m_returns.pop_front();
        uint32_t surplus = m_peers[index].account.surplus(0);

        if (surplus != 0) {
            actions.push({Action::return_credit, index, surplus});
        }
    }
    while (!m_give_backs.empty() && !actions.full()) {
        uint32_t index = m_give_backs.pop_front();

        actions.push({Action::send_return, index, m_peers[index].account.returned()});
    }
}

/* Answers first: they write the cell too. */
void Flow::drain_credit(Actions &actions)
{
    while (!actions.full()) {
        uint32_t index = m_pool.next_answer();

        if (index == ReceivePool::none) {
            break;
        }
        ++m_peers[index].counters.answers;
        actions.push({Action::answer_request, index, m_pool.granted(index)});
    }
    while (!actions.full()) {
        uint32_t index = m_pool.next_cell();

        if (index == ReceivePool::none) {
            break;
        }
        ++m_peers[index].counters.cell_writes;
        actions.push({Action::write_cell, index, m_pool.granted(index)});
    }
    while (!actions.full()) {
        uint32_t index = m_pool.next_revoke();

        if (index == ReceivePool::none) {
            break;
        }
        ++m_peers[index].counters.revokes;
        actions.push({Action::send_revoke, index, m_pool.kept(index)});
    }
}

void Flow::start_stall(uint64_t &since_ns, StallStats &stall, uint64_t now_ns)
{
    if (since_ns == not_stalled) {
        since_ns = now_ns;
        ++stall.count;
    }
}

void Flow::end_stall(uint64_t &since_ns, StallStats &stall, uint64_t now_ns)
{
    if (since_ns != not_stalled) {
        stall.ns += now_ns - std::min(now_ns, since_ns);
        since_ns = not_stalled;
    }
}

} // namespace be::core
