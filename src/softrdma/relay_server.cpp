// SPDX-License-Identifier: BSD-3-Clause
#include "relay_server.h"

#include "guard.h"
#include "log.h"
#include "process.h"

#include <bit>
#include <cerrno>
#include <cstring>

namespace softrdma {
namespace {

// Of an open request: that it is answered.
void conclude(relay_shared &request, uint64_t open)
{
    uint64_t expected = open;
    if (!request.state.compare_exchange_strong(expected, open - relay_open + relay_done,
                                               std::memory_order_acq_rel)) {
        // Given up meanwhile.
        request.state.store(open - relay_open + relay_free, std::memory_order_release);
    }
}

} // namespace

void relay_server::serve()
{
    segment_layout &own = *m_owner.seg.base();
    for (uint32_t word = 0; word < limits::processes / 64; ++word) {
        uint64_t bits = own.callers[word].exchange(0, std::memory_order_acquire);
        for (; bits != 0; bits &= bits - 1) {
            serve_slot(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
        }
    }
}

void relay_server::serve_slot(uint32_t slot)
{
    execution_guard guard(m_owner.reg, slot);
    peer *from = m_owner.peers.find(slot);
    if ((from == nullptr) || from->own) {
        return;
    }
    std::lock_guard lock(m_mutex);
    uint32_t end = from->segment->high_relay.load(std::memory_order_acquire);
    for (uint32_t index = 0; (index < end) && (index < limits::relays); ++index) {
        serve_request(*from, index);
    }
}

void relay_server::serve_request(peer &from, uint32_t index)
{
    relay_shared &request = from.segment->relays[index];
    uint64_t state        = request.state.load(std::memory_order_acquire);
    uint64_t phase        = state & relay_phase_mask;
    if (((phase != relay_open) && (phase != relay_abandoned)) ||
        (request.slot != m_owner.reg.own_slot()) ||
        (request.generation != m_owner.reg.own_generation())) {
        return;
    }

    uint64_t open = (state & ~relay_phase_mask) | relay_open;
    auto key      = std::make_pair(from.slot, index);
    auto found    = m_errands.find(key);
    if ((found != m_errands.end()) && !found->second.is(open, from.generation)) {
        found->second.let_go();
        m_errands.erase(found);
        found = m_errands.end();
    }
    if (phase == relay_abandoned) {
        if (found != m_errands.end()) {
            found->second.let_go();
            m_errands.erase(found);
        }
        request.state.store(open - relay_open + relay_free, std::memory_order_release);
        return;
    }

    process_entry &entry = m_owner.reg.entry(from.slot);
    int file             = from.segment_file(entry.segment_fd);
    if (file < 0) {
        if ((errno == EMFILE) || (errno == ENFILE)) {
            SOFTRDMA_LOG_ONCE(warn, "process %d is not answered: its device memory: %s",
                              from.pid, strerror(errno));
        }
        return; // or it has just died
    }
    if (found == m_errands.end()) {
        found = m_errands
                        .emplace(key, errand(m_owner, request.qp % limits::qps, open,
                                             from.generation))
                        .first;
    }
    if (found->second.proceed({request, file}, from)) {
        m_errands.erase(found);
        conclude(request, open);
        from.call(entry.doorbell_fd, 0);
    }
}

// Says that an errand was not ended. Its requester will try again.
void relay_server::tell(uint32_t slot, uint32_t index, const errand &over)
{
    execution_guard guard(m_owner.reg, slot);
    peer *from = m_owner.peers.find(slot);
    if ((from == nullptr) || !over.is(over.state(), from->generation)) {
        return;
    }
    relay_shared &request = from->segment->relays[index];
    request.answer        = static_cast<uint32_t>(outcome::kind::no_response);
    conclude(request, over.state());
    from->call(m_owner.reg.entry(slot).doorbell_fd, 0);
}

void relay_server::abandon(uint32_t qp)
{
    std::lock_guard lock(m_mutex);
    for (auto next = m_errands.begin(); next != m_errands.end();) {
        auto now = next++;
        if (now->second.qp() == qp) {
            now->second.let_go();
            tell(now->first.first, now->first.second, now->second);
            m_errands.erase(now);
        }
    }
}

void relay_server::forget(uint32_t slot, uint64_t generation)
{
    std::lock_guard lock(m_mutex);
    for (auto next = m_errands.begin(); next != m_errands.end();) {
        auto now = next++;
        if ((now->first.first == slot) &&
            now->second.is(now->second.state(), generation)) {
            now->second.let_go();
            m_errands.erase(now);
        }
    }
}

} // namespace softrdma
