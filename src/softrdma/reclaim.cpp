// SPDX-License-Identifier: BSD-3-Clause
#include "reclaim.h"

#include "cq.h"
#include "process.h"
#include "qp.h"
#include "srq.h"

namespace softrdma {

void reclaim_from_dead(process &me)
{
    auto cqs = me.cqs.snapshot();
    {
        std::vector<std::unique_lock<brief_lock>> pollers;
        for (const auto &cq : cqs) {
            pollers.push_back(cq->hold_pollers());
        }
        auto reclaim = [&](receive_queue &receives, queue_kind kind, uint32_t queue) {
            receives.reclaim([&](receive_queue::slot_set &delivered) {
                for (const auto &cq : cqs) {
                    bool locked = receives.shared().cq == cq->index();
                    if (!locked) {
                        lock_completions(me.token(), me.seg.base(), cq->shared());
                    }
                    cq->list_receives(kind, queue, delivered);
                    if (!locked) {
                        cq->shared().lock.unlock();
                    }
                }
            });
        };
        for (const auto &srq : me.srqs.snapshot()) {
            reclaim(srq->receives(), queue_kind::shared_receive, srq->index());
        }
        for (const auto &qp : me.qps.snapshot()) {
            reclaim(qp->receives(), queue_kind::receive, qp->index);
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
