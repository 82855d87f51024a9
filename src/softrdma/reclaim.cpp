// SPDX-License-Identifier: BSD-3-Clause
#include "reclaim.h"

#include "cq.h"
#include "process.h"
#include "qp.h"
#include "srq.h"

#include <unordered_map>
#include <unordered_set>

namespace softrdma {
namespace {

// Slots whose completion waits to be polled, by the index of their queue.
using slots_by_queue = std::unordered_map<uint32_t, std::unordered_set<uint32_t>>;

} // namespace

void reclaim_from_dead(process &me)
{
    auto cqs = me.cqs.snapshot();
    {
        std::vector<std::unique_lock<std::mutex>> pollers;
        std::vector<completion> waiting;
        for (const auto &cq : cqs) {
            pollers.push_back(cq->hold_pollers());
            cq->list_receives(waiting);
        }

        slots_by_queue of_qps, of_srqs;
        for (const completion &entry : waiting) {
            auto &slots = (entry.kind == queue_kind::receive) ? of_qps : of_srqs;
            slots[entry.queue].insert(entry.slot);
        }
        for (const auto &srq : me.srqs.snapshot()) {
            srq->receives().reclaim(of_srqs[srq->index()]);
        }
        for (const auto &qp : me.qps.snapshot()) {
            qp->receives().reclaim(of_qps[qp->index]);
        }
    }
    for (const auto &qp : me.qps.snapshot()) {
        qp->flush_late_receives();
    }
    for (const auto &cq : cqs) {
        cq->wake_if_any();
    }
}

} // namespace softrdma
