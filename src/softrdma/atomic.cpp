// SPDX-License-Identifier: BSD-3-Clause
//
// Compare-and-swap and fetch-and-add. They are atomic toward each other (IBV_ATOMIC_HCA): all that change
// one process's memory hold that process's lock. A stopped target does not matter, it never holds it.
#include "operation.h"

#include <cerrno>
#include <cstring>

namespace softrdma {
namespace {

int move_word(peer &to, uint64_t &word, uint64_t remote_addr, direction way)
{
    memory_list mine, theirs;
    mine.add(reinterpret_cast<uint64_t>(&word), sizeof(word));
    theirs.add(remote_addr, sizeof(word));
    return transfer(to, mine, theirs, sizeof(word), way);
}

} // namespace

outcome compare_or_add(const operation &op, uint64_t remote_addr)
{
    uint64_t before = 0;
    op.to.segment->atomics.lock(op.me.token());
    int failure = move_word(op.to, before, remote_addr, direction::from_peer);
    if (failure == 0) {
        bool swap      = op.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
        uint64_t after = swap ? op.wr.wr.atomic.swap :
                                before + op.wr.wr.atomic.compare_add;
        if (!swap || (before == op.wr.wr.atomic.compare_add)) {
            failure = move_word(op.to, after, remote_addr, direction::to_peer);
        }
    }
    op.to.segment->atomics.unlock();

    if (failure == ESRCH) {
        return outcome::no_response();
    }
    if (failure == EPERM) {
        bool swap = op.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
        return begin_relay(op, swap ? relay_kind::swap : relay_kind::add,
                           op.wr.wr.atomic.remote_addr,
                           part_of(op.local, 0, sizeof(before)));
    }
    if (failure != 0) {
        op.fail_target(IBV_EVENT_QP_FATAL);
        return outcome::failed(IBV_WC_REM_OP_ERR);
    }
    scatter(reinterpret_cast<const char *>(&before), op.local, sizeof(before));
    return outcome::done(sizeof(before));
}

} // namespace softrdma
