// SPDX-License-Identifier: BSD-3-Clause
//
// One port in use: two completion queues, the shared receives, the peers and the protocol (Flow) that decides what
// may be sent. Members (interfaces of UCX) use it through links to peers. The methods are grouped by file:
//
//   fabric.cpp      set-up, polling, sleeping            messages.cpp  active messages out
//   connection.cpp  side-channel events, wiring          receive.cpp   active messages and notices in
//   failure.cpp     peers that fail or leave             remote.cpp    put and get
//   credit.cpp      executes Flow's actions              bulk.cpp      pieces of put and get
//   flush.cpp       flush, fence, markers                metrics.cpp   what can be watched
//
// Threads: one at a time, except for the inbox. Re-entrance: callbacks into the upper layer may call everything
// but progress() and the destructor.

#pragma once

#include "control/node.hpp"
#include "core/flow.hpp"
#include "engine/address.hpp"
#include "engine/c_api.h"
#include "engine/device.hpp"
#include "engine/inbox.hpp"
#include "engine/mailbox.hpp"
#include "engine/member_lock.hpp"
#include "engine/peer.hpp"
#include "engine/qpn_table.hpp"
#include "engine/receive_ring.hpp"
#include "engine/waker.hpp"
#include "memory/pool.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/gid.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace be::engine {

class Member;

struct FabricCounters {
    std::uint64_t messages_sent     = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t bytes_sent        = 0; // payload of messages
    std::uint64_t bytes_received    = 0;
    std::uint64_t bytes_put         = 0;
    std::uint64_t bytes_got         = 0;
    std::uint64_t bytes_copied      = 0; // through staging buffers, both directions
    std::uint64_t receives_kept     = 0; // descriptors the upper layer held on to
    std::uint64_t receives_copied = 0; // ... and those it had to copy, for want of buffers
    std::uint64_t staging_empty   = 0; // sends put off for want of a staging buffer
    std::uint64_t queue_full      = 0; // sends put off for want of a send queue slot
    std::uint64_t messages_dropped = 0; // malformed, or from a peer that is gone
    std::uint64_t peers_failed     = 0;
    std::uint64_t peers_departed   = 0;
    std::uint64_t cells_written    = 0;
    std::uint64_t holds            = 0; // peers were told not to send to an interface
    std::uint64_t rnr              = 0; // receiver-not-ready: must stay 0
};

class Fabric {
public:
    // Throws verbs::Error, std::system_error, std::invalid_argument, std::bad_alloc.
    Fabric(std::shared_ptr<Device> opened, std::uint8_t port,
           const be_fabric_config_t &config);
    ~Fabric();

    MemberLock &lock() noexcept
    {
        return m_lock;
    }

    // Members. join() returns its interface id; throws std::runtime_error. leave() takes the lock by itself.
    std::uint16_t join(Member &member);
    void leave(Member &member) noexcept;
    // Could a new member of that port and configuration join?
    bool suits(const Device &device, std::uint8_t port,
               const be_fabric_config_t &config) const noexcept;

    // The descriptors of completions and of the control channel: whoever is alone watches them himself.
    bool unwatched() const noexcept
    {
        return m_member_count == 0 && !m_crowded;
    }

    // There are others, or were.
    bool crowded() const noexcept
    {
        return m_crowded.load(std::memory_order_relaxed);
    }

    int channel_fd() const noexcept
    {
        return m_channel.fd();
    }

    int control_fd() const noexcept
    {
        return m_inbox.event_fd();
    }

    // For the only member, which hears of everything by direct call.
    unsigned poll();
    be_status_t arm();

    // For one of many. BE_OK: it may sleep, the lock being held until it has said so.
    unsigned poll_for(Member &member);
    be_status_t arm_for_many();

    bool worth_a_try(const Link &link) const noexcept;

    void one_sleeps() noexcept
    {
        ++m_sleepers;
    }

    void one_wakes() noexcept
    {
        --m_sleepers;
    }

    // Whoever polls in vain gives the processor away now and then.
    bool yields() const noexcept
    {
        return m_device->context().soft() && !m_config.shared;
    }

    void take_back(std::vector<void *> &payloads,
                   std::vector<BulkOperation *> &operations, std::uint64_t kept,
                   std::uint64_t copied) noexcept;

    // How many of those to collect.
    unsigned give_back_batch() const noexcept
    {
        return std::clamp(m_config.rx_capacity / 64, 1u, poll_batch);
    }

    // A member with no more mail than this has caught up.
    std::uint64_t resume_at() const noexcept
    {
        return m_hold_at / 4;
    }

    void resume(Member &member, const std::vector<Peer *> &peers);

    be_fabric_attr_t attributes() const noexcept;
    const FabricAddress &address() const noexcept;

    // Links
    Link *connect(Member &member, const FabricAddress &address, be_status_t *status);
    void release(Link &link) noexcept;
    void reported(Link &link) noexcept;
    void log_unattended(const Peer &peer) const; // lost, and nobody is there to be told
    void probe(Link &link);
    be_status_t status(const Link &link) const noexcept;
    bool can_send(Link &link);
    void demand(Link &link, int change);

    // Active messages
    be_status_t send_short(Link &link, std::uint8_t am_id, std::uint64_t header,
                           const void *payload, unsigned length);
    be_status_t
    send_short(Link &link, std::uint8_t am_id, const be_sge_t *parts, std::size_t count);
    ssize_t send_packed(Link &link, std::uint8_t am_id, be_pack_func_t pack, void *arg);
    be_status_t send_zero_copy(Link &link, std::uint8_t am_id, const void *header,
                               unsigned header_length, const be_sge_t *parts,
                               std::size_t count, void *completion);
    void release_payload(void *payload) noexcept;

    // Remote memory
    be_status_t put_short(Link &link, const void *data, unsigned length,
                          std::uint64_t remote, std::uint32_t rkey);
    ssize_t put_packed(Link &link, be_pack_func_t pack, void *arg, std::uint64_t remote,
                       std::uint32_t rkey);
    be_status_t get_unpacked(Link &link, void *unpack_func, void *unpack_arg,
                             std::size_t length, std::uint64_t remote, std::uint32_t rkey,
                             void *completion);
    be_status_t transfer(Link &link, BulkOperation::Kind kind, const be_sge_t *parts,
                         std::size_t count, std::uint64_t remote, std::uint32_t rkey,
                         void *completion);

    be_status_t flush(Link &link, void *completion);
    be_status_t flush_all(Member &member, void *completion);
    void fence(Link &link);
    void fence_all(Member &member);

    void metrics(be_metric_func_t func, void *arg) const;
    void link_metrics(const Link &link, be_metric_func_t func, void *arg) const;

    // Those of peers that are not gone for good.
    template<typename Visit>
    void visit_links(const Member &member, Visit &&visit)
    {
        for (const auto &peer : m_peers) {
            if (peer != nullptr) {
                for (const auto &[key, link] : peer->links) {
                    if (&link->member == &member) {
                        visit(*link);
                    }
                }
            }
        }
    }

private:
    static constexpr unsigned poll_batch = 16; // completions taken at once
    static constexpr unsigned idle_polls_to_refill =
            32; // then fewer receives than a batch are posted for somebody who waits
    static constexpr unsigned idle_polls_to_rest =
            4096; // ... and for nobody; a power of two, as the others
    static constexpr unsigned idle_polls_per_look =
            64; // at the send queue, of which only a failure could come
    static constexpr unsigned batches_per_look =
            8; // of arrivals, then the clock is read again: that takes a tenth of handling one
    static constexpr unsigned send_patience =
            16; // calls of progress() with arrivals, then sends get their turn too
    static constexpr unsigned action_batch = 16;
    static constexpr unsigned bulk_reserve =
            4; // bulk queue slots that notices can count on
    static constexpr unsigned max_queued_bulk = 256; // operations waiting on one peer
    static constexpr unsigned notices_per_peer =
            2; // a request of the peer's, an answer to ours
    static constexpr unsigned notice_receives = 4096;

    static constexpr unsigned looks_in_a_row = 16; // of the waker
    static constexpr unsigned least_backlog  = 64; // of messages that are worth a hold

    // Completions of sends that may be outstanding over all queue pairs. Three quarters are given to ordinary work,
    // the rest to markers.
    static constexpr unsigned send_cq_entries = 4096;
    static constexpr unsigned send_budget     = send_cq_entries / 4 * 3;

    // The tag of a send queue: its place in m_queues, and how often that place was used before.
    static constexpr unsigned queue_index_bits           = 20;
    static constexpr std::uint32_t queue_index_mask      = (1u << queue_index_bits) - 1;
    static constexpr std::uint32_t queue_generation_mask = (1u
                                                            << (32 - queue_index_bits)) -
                                                           1;

    // What a queue pair number or a completion belongs to.
    struct QueueRef {
        Peer *peer               = nullptr;
        bool bulk                = false;
        std::uint32_t generation = 0;
    };

    struct MessageHeader {
        core::HeaderKind kind = core::HeaderKind::am;
        std::uint8_t am_id    = 0;
        std::uint8_t flags    = 0;
        std::uint16_t iface   = 0; // that it is for, or is about
        void *header          = nullptr; // where its 16 bytes go
    };

    // fabric.cpp
    unsigned post_first_receives();
    core::FlowConfig flow_config(unsigned posted) const;
    verbs::QueuePairCapacity queue_capacity(unsigned max_inline) const;
    void learn_max_inline();
    unsigned poll_receives();
    unsigned poll_sends();
    bool sends_due() noexcept;
    void look_around();
    void on_sent(const ibv_wc &wc);
    void retired(Peer &peer, const Slot &slot, be_status_t status);
    void refill_receives();
    void tick(std::uint64_t time);
    void queue_failure(const char *what);
    std::uint64_t now() noexcept; // monotonic, ns

    Member *member(std::uint16_t id) const noexcept
    {
        return id < m_members.size() ? m_members[id] : nullptr;
    }

    // connection.cpp
    Peer &add_peer(const control::Identity &identity);
    Link &link_to(Peer &peer, Member &member, std::uint16_t iface);
    void start(Peer &peer, const FabricAddress &address);
    void make_queues(Peer &peer);
    void destroy_queues(Peer &peer) noexcept;
    control::ConnectInfo connect_info(Peer &peer);
    unsigned handle_control();
    void on_connect(ControlEvent &event);
    void on_accept(ControlEvent &event);
    void on_ready(ControlEvent &event);
    void on_closed(ControlEvent &event);
    void wire(Peer &peer, const control::ConnectInfo &info);
    void connect_to_self(Peer &peer);
    void become_ready(Peer &peer);
    Peer *by_connection(control::ConnectionId id);
    void drop_connection(Peer &peer);
    bool make_way(Peer &peer);

    // failure.cpp
    void fail(Peer &peer, be_status_t status, std::string_view why);
    void depart(Peer &peer);

    void begin_drain(Peer &peer, be_status_t status);
    void expect(Peer &peer);
    unsigned finish_drains();
    void finish_drain(Peer &peer);
    void report(Link &link);
    void free_dead_peers();
    void remove_peer(Peer &peer);
    be_status_t unusable(Link &link);
    void io_failure(Peer &peer, const char *what, int error);

    // messages.cpp
    be_status_t admit(Link &link);
    be_status_t no_staging(Link &link);
    be_status_t refuse(Link &link, bool short_of = false);
    bool has_credit(Link &link);
    void reclaim_sends();
    static MessageHeader
    message_to(const Link &link, std::uint8_t am_id, void *header) noexcept;
    int post(SendQueue &queue, ibv_send_wr &wr, const Slot &slot, bool signal) noexcept;
    be_status_t post_message(Peer &peer, const MessageHeader &message, const Slot &slot,
                             ibv_sge *sges, int sge_count, unsigned flags, bool signal);

    // receive.cpp
    void on_arrival(const ibv_wc &wc, std::uint64_t time);
    void on_message(const ibv_wc &wc, Peer *peer, std::uint64_t time);
    void on_notice(Peer &peer, std::uint32_t immediate, std::uint64_t time);
    void drop_message(void *buffer, Peer *peer, std::uint64_t time, const char *why);
    bool post_notice_receives(unsigned count);

    // credit.cpp
    void execute(core::Actions &actions);
    void execute(Peer &peer, const core::Action &action);
    void drain_actions();
    void defer(Peer &peer);
    unsigned retry_deferred();
    void write_cell(Peer &peer);
    void
    post_cell(Peer &peer, ibv_sge &sge, const Slot &slot, unsigned flags, bool signal);
    bool send_notice(Peer &peer, const core::Notice &notice);
    void send_request(Peer &peer);
    void send_answer(Peer &peer);
    void return_credit(Peer &peer);
    void read_cell(Peer &peer);

    // remote.cpp
    be_status_t admit_bulk(Link &link);
    memory::Buffer start_staged(BulkOperation::Kind kind, std::uint64_t remote,
                                std::uint32_t rkey, BulkOperation **operation);

    // bulk.cpp
    void enqueue(Link &link, BulkOperation *operation, std::size_t length);
    void pump_bulk();
    void post_admitted(Peer &peer);
    bool post_piece(Peer &peer, BulkOperation &operation, std::size_t bytes);
    void piece_done(Peer &peer, BulkOperation &operation, std::uint32_t bytes,
                    be_status_t status);
    void operation_done(BulkOperation &operation);
    void cancel_operations(Peer &peer);
    void cancel_operations(const Member &member);

    // sharing.cpp
    bool idle(const Member &member);
    void give_up(const Member &member);
    void forget(Member &member) noexcept;
    void file_message(Member &member, Peer &peer, const Mail &mail);
    void wake_waiting(Peer &peer);
    void wake_all() noexcept;

    // Something of this peer's has come free, or it has come or gone.
    void freed(Peer &peer)
    {
        ++peer.freed;
        if (m_sleepers != 0) [[unlikely]] {
            wake_waiting(peer);
        }
    }

    bool look_after_sleepers();

    // announce.cpp
    void announce(Peer &peer, Note::What what, std::uint16_t iface);
    void send_notes(Peer &peer);
    void on_note(Peer &peer, std::uint8_t what, std::uint16_t iface);
    void bar(Link &link);
    void check_backlog(Member &member, Peer &peer);

    // flush.cpp
    void post_marker(Peer &peer, SendQueue &queue);
    bool outstanding(Link &link);
    Flush *new_flush(Member &member, void *completion);
    be_status_t started(Flush *flush);
    void add_waiter(Link &link, Flush *flush);
    void check_waiters(Peer &peer);
    void take_waiter(Link &link, be_status_t status);

    // Calls somebody else's function, without the lock where others would wait for it.
    template<typename Call>
    auto unlocked(Call &&call)
    {
        if (m_member_count <= 1) {
            return call();
        }
        m_lock.unlock();
        auto result = call();
        m_lock.lock();
        return result;
    }

    template<typename Event>
    void flow_event(Event &&event)
    {
        std::array<core::Action, action_batch> storage;
        core::Actions actions(storage);
        event(actions);
        if (actions.size() != 0 || m_receives_wanted) [[unlikely]] {
            execute(actions);
        }
    }

    const std::shared_ptr<Device> m_device;
    const be_fabric_config_t m_config;
    const std::uint64_t m_hold_at; // mails of a member: peers are told not to send more
    const std::uint64_t m_backlog_limit; // ... and have had time to hear of it
    const std::uint8_t m_port;
    ibv_port_attr m_port_attributes;
    verbs::Gid m_gid;
    FabricAddress m_address;

    verbs::CompletionChannel m_channel;
    verbs::CompletionQueue m_receive_cq;
    verbs::CompletionQueue m_send_cq;
    ReceiveRing m_receives;
    verbs::SharedReceiveQueue
            m_notice_srq; // receives without memory: only their completion matters
    memory::BufferPool m_staging;
    core::Flow m_flow;
    BulkOperations m_operations;

    // Members
    MemberLock m_lock;
    std::vector<Member *> m_members; // by interface id; null: it has left
    std::uint16_t m_next_id = 0; // when each has been used
    unsigned m_member_count = 0;
    std::atomic<bool> m_crowded{false}; // there have been two at once
    unsigned m_sleepers        = 0; // members that sleep and share
    std::uint64_t m_freed      = 0; // as Peer::freed, of what all peers share
    bool m_short               = false; // somebody was refused for want of that
    const Member *m_poller     = nullptr;
    std::uint64_t m_polls      = 0; // by members
    std::uint64_t m_polls_seen = 0; // by the waker
    std::optional<Waker> m_waker;

    std::vector<std::unique_ptr<Peer>> m_peers; // by Flow index
    std::unordered_map<std::uint64_t, Peer *> m_by_fabric;
    std::unordered_map<control::ConnectionId, Peer *> m_by_connection;
    QpnTable m_by_qpn;
    std::vector<QueueRef> m_queues; // by the tag in a send completion
    std::vector<std::uint32_t> m_free_queues;

    Inbox m_inbox;
    std::shared_ptr<control::Node> m_node;
    std::vector<ControlEvent> m_events; // being handled; kept for its storage

    // Completions taken; those that arm() found wait here for progress().
    std::array<ibv_wc, poll_batch> m_receive_completions;
    std::array<ibv_wc, poll_batch> m_send_completions;
    int m_stashed_receives   = 0;
    int m_stashed_sends      = 0;
    unsigned m_idle_polls    = 0;
    unsigned m_batches       = 0; // of arrivals
    unsigned m_sends_put_off = 0;
    std::uint64_t m_now      = 0; // when the clock was last read
    std::uint64_t m_ticked   = 0; // when the protocol last heard of the time

    std::vector<Peer *> m_draining;
    std::vector<Peer *>
            m_expected; // both ends began at once; the other's Connect is to come
    std::vector<Peer *> m_deferred; // with *_deferred
    std::vector<Peer *> m_retrying; // storage of retry_deferred()
    std::vector<std::unique_ptr<Peer>> m_dead;
    Stock<Flush> m_flushes;
    Stock<FlushWaiter> m_waiters;

    bool m_free_due              = false; // m_dead may hold one that nobody references
    bool m_receives_wanted       = false;
    bool m_receive_error_logged  = false;
    bool m_queue_failed          = false;
    unsigned m_sends_outstanding = 0;
    unsigned m_signals           = 0; // completions that were asked for and have not come
    unsigned m_notice_surplus    = 0; // receives posted on behalf of peers that are gone
    unsigned m_max_inline        = 0;
    FabricCounters m_counters;
};

} // namespace be::engine
