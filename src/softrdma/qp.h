// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs. A send is executed by the thread that posts it (execute.h); only what cannot be executed
// now (no receive at the peer, peer silent, queue draining) is kept in the send ring, and retried when
// its time has come by the service thread or a polling thread.
//
// A place in the send queue is taken until the completion of this or a later request is polled, as on a
// NIC. Sequence numbers count requests from the last reset and wrap.
//
// Thread rules: any thread of the owner. The queue pair's lock is taken before those of completion and
// receive queues, never the other way round.
#pragma once

#include "brief_lock.h"
#include "events.h"
#include "execute.h"
#include "fabric_model.h"
#include "pd.h"
#include "relay.h"
#include "rq.h"

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace softrdma {

struct device_context;
class request_builder;

class queue_pair : public ibv_qp_ex, public std::enable_shared_from_this<queue_pair> {
public:
    // Null with errno. The attributes return what was created. `operations`: the ibv_wr_* calls to
    // offer, IBV_QP_EX_WITH_*, 0 for none.
    static queue_pair *create(device_context &context, ibv_pd *pd, ibv_qp_init_attr &attr,
                              uint64_t operations);

    static queue_pair *from(ibv_qp *qp)
    {
        return static_cast<queue_pair *>(reinterpret_cast<ibv_qp_ex *>(qp));
    }

    int modify(const ibv_qp_attr &attr, int mask);
    void query(ibv_qp_attr &attr, ibv_qp_init_attr *init);

    int post_send(ibv_send_wr *wr, ibv_send_wr **bad);
    int post_recv(ibv_recv_wr *wr, ibv_recv_wr **bad);

    // One request, with the lock held: 0 or the errno of posting it behind `ahead` others; and posting it, when
    // that was 0.
    int check_post(const ibv_send_wr &wr, uint32_t ahead);
    void accept(const ibv_send_wr &wr);

    // 0. Waits for the application to acknowledge its events, then frees the object.
    int destroy();

    // Takes it out of service without waiting for events; used by destroy() and when the context closes.
    void close();

    // The completion of request `sequence` - 1 was polled: the places up to it are free again.
    void retire(uint32_t sequence)
    {
        m_retired.store(sequence, std::memory_order_release);
    }

    // When the head of the send queue is to be tried again, in now_ns() time.
    uint64_t deadline() const
    {
        return m_deadline.load(std::memory_order_relaxed);
    }
    void retry();

    // Goes on with a relayed request that got on.
    void resume();

    bool completes_in(const ibv_cq *cq) const
    {
        return (qp_base.send_cq == cq) || (qp_base.recv_cq == cq);
    }

    // To the error state, with IBV_EVENT_QP_FATAL.
    void fail();

    // The same as a failure of the adapter. False when it was not connected.
    bool fail_connected(bool raise_event);

    // Follows up what a peer reported: that it is there, or that it put the queue pair into the error state.
    void check_reports();

    // Flushes what came back to the receive queue after it had been flushed.
    void flush_late_receives();

    receive_queue &receives()
    {
        return m_receives;
    }

    // What execution needs to know.
    process &owner;
    const uint32_t index;
    qp_shared &shared;
    uint32_t device   = 0;
    uint32_t pd_index = 0;
    port_shared *port = nullptr; // ours, on that device
    ibv_qp_attr attributes{};
    std::optional<relayed_request> relayed; // the head of the send queue, at its target

    // Only for create(): make_shared needs it.
    queue_pair(process &owner, ibv_pd *pd, uint32_t index);
    ~queue_pair();

private:
    struct stored_request;
    friend class request_builder;

    // qp_send.cpp
    bool settle(const ibv_send_wr &wr, const outcome &result);
    void run();
    void store(const ibv_send_wr &wr);
    int check_request(const ibv_send_wr &wr) const;
    void run_or_store(const ibv_send_wr &wr);
    void wait_until(uint64_t when);
    void stop_waiting();
    uint64_t patience_ns() const;
    void complete(const ibv_send_wr &wr, ibv_wc_status status, uint32_t bytes);
    void send_failed();

    // qp_fabric.cpp
    bool is_modelled(const ibv_send_wr &wr) const;
    bool make_ring();
    std::byte *place_of(uint32_t sequence);
    stored_request &stored(uint32_t sequence);
    bool launch(stored_request &request);
    void launch_new();
    void land(stored_request &request, const message_fate &fate);
    uint64_t land_all(uint64_t now);
    bool travel();
    void keep_back(stored_request &request, outcome &result) const;
    void forget_travellers();
    void close_flows();

    // qp_state.cpp
    void enter_error();
    void flush_sends();
    void flush_receives();
    void reset();
    void drained();
    void set_state(ibv_qp_state state);
    void apply(const ibv_qp_attr &attr, int mask);
    void follow_remote_error();

    ibv_qp_state state() const
    {
        return static_cast<ibv_qp_state>(shared.state.load(std::memory_order_relaxed));
    }

    brief_lock m_mutex; // long only while a large message is copied
    receive_queue m_receives;
    event_target m_events;
    domain_user m_domain;
    ibv_qp_init_attr m_init{};
    bool m_open           = true; // until close()
    bool m_error_handled  = false; // flushed since it entered the error state
    bool m_draining       = false; // in SQD, with a request that had begun
    bool m_notify_drained = false;

    // Room for max_send_wr requests, by sequence number; none before the first is posted. Pages of its own,
    // in which each request begins its life in store(): only those that had to wait cost memory.
    std::byte *m_ring   = nullptr;
    uint32_t m_posted   = 0;
    uint32_t m_executed = 0;
    uint32_t m_launched = 0; // given to the fabric model, when that is on
    uint32_t m_flow = 0, m_answer_flow = 0; // in it, once they were needed
    std::atomic<uint32_t> m_retired{0};

    std::unique_ptr<request_builder> m_builder; // of the ibv_wr_* calls, if offered

    bool m_waiting = false; // known to the service thread
    std::atomic<uint64_t> m_deadline{UINT64_MAX};
    uint32_t m_rnr_count     = 0; // attempts of the head that met no receive
    uint32_t m_timeout_count = 0; // attempts of the head that met silence
};

// Entry points of the context.
int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad);
int post_recv(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad);
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr);


} // namespace softrdma
