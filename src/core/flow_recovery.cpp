// SPDX-License-Identifier: BSD-3-Clause
//
// The path to a peer is replaced. Totals survive: what was granted, used, given back and numbered. What was said only
// once does not: requests, revokes, wake-ups. Whoever asked asks again; whoever was asked forgets it.

#include "core/flow.hpp"

namespace be::core {

Position Flow::position(uint32_t index)
{
    const Peer &peer = m_peers[index];
    CreditCell cell  = take_cell(index);

    return {.expected          = peer.received.expected(),
            .writes            = 0,
            .messages          = cell.messages,
            .units             = cell.byte_units,
            .messages_returned = peer.account.returned(),
            .units_returned    = peer.bytes[0].returned()};
}

bool Flow::reposition(uint32_t index, const Position &theirs, uint64_t now_ns,
                      Actions &actions)
{
    advance(now_ns);

    bool good = member(index);

    if (good) {
        Peer &peer = m_peers[index];

        /* as the receiver */
        m_pool.forget_request(index);
        good = m_pool.on_returned(index, theirs.messages_returned);
        m_byte_revokes.erase(index);
        m_wokens.erase(index);
        peer.wake_wanted = false;
        if (m_bytes.enabled()) {
            good &= m_bytes.returned(writes_of(index), theirs.units_returned, now_ns);
        }

        /* as the sender */
        m_requests.erase(index);
        m_wakes.erase(index);
        peer.wake_asked = false;
        peer.bytes[0].forget_asked();
        collect_bytes(now_ns);
    }
    if (good) {
        (void)credit_update(index,
                            {.messages   = theirs.messages,
                             .byte_units = theirs.units & cell_byte_mask},
                            now_ns, actions);
        (void)answered(index, theirs.messages, now_ns, actions);
        if (m_bytes.enabled()) {
            settle_demand(index);
        }
    }
    drain(actions);
    return good;
}

} // namespace be::core
