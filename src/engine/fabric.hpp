// SPDX-License-Identifier: BSD-3-Clause
//
// One port in use: two completion queues, the shared receives, the peers and the protocol (Flow) that decides what
// may be sent. Members (interfaces of UCX) use it through links to peers. The methods are grouped by file:
//
//   fabric.cpp      set-up                               messages.cpp  active messages out
//   progress.cpp    polling, sleeping                    parked.cpp    those that wait for byte credit
//   connection.cpp  side-channel events                  receive.cpp   active messages in
//   wiring.cpp      queue pairs                          notices.cpp   notices out and in
//   failure.cpp     peers that fail or leave             remote.cpp    put and get
//   replay.cpp      what did not arrive, once more       bulk.cpp      pieces of put and get
//   credit.cpp      executes Flow's actions              flush.cpp     flush, fence, markers
//
// What keeps a peer through failures of its queue pairs and of the side channel is in recoverer.hpp, data over the latter
// in tcp_path.hpp. Threads: one at a time, except for the inbox. Re-entrance: callbacks may call all but progress().

#pragma once

#include "control/node.hpp"
#include "core/flow.hpp"
#include "engine/address.hpp"
#include "engine/c_api.h"
#include "engine/device.hpp"
#include "engine/fabric_counters.hpp"
#include "engine/inbox.hpp"
#include "engine/limits.hpp"
#include "engine/mailbox.hpp"
#include "engine/member_lock.hpp"
#include "engine/outgoing.hpp"
#include "engine/peer.hpp"
#include "engine/queue_directory.hpp"
#include "engine/receive_ring.hpp"
#include "engine/recoverer.hpp"
#include "engine/recovery_record.hpp"
#include "engine/send_account.hpp"
#include "engine/tcp_path.hpp"
#include "engine/timer.hpp"
#include "engine/waker.hpp"
#include "memory/pool.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/gid.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace be::engine {

class Member;

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

    // Those that tell of events, -1 for none. Whoever is alone watches them himself.
    std::array<int, 3> descriptors() const noexcept
    {
        return {m_channel.fd(), m_inbox.event_fd(), m_timer.fd()};
    }

    bool unwatched() const noexcept
    {
        return m_member_count == 0 && !m_crowded;
    }

    // There are others, or were.
    bool crowded() const noexcept
    {
        return m_crowded.load(std::memory_order_relaxed);
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
    std::size_t show_peers(std::span<core::StatsPeer> rows) const noexcept;

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
    friend class Recoverer;
    friend class TcpPath;
    // fabric.cpp
    unsigned post_first_receives();
    core::FlowConfig flow_config(unsigned posted) const;
    unsigned notice_capacity() const noexcept;
    bool byte_credit() const noexcept
    {
        return m_config.byte_budget != 0;
    }
    unsigned notices_of_peer() const noexcept
    {
        return byte_credit() ? notices_per_byte_peer : notices_per_peer;
    }
    verbs::QueuePairCapacity queue_capacity(unsigned max_inline) const;
    void learn_max_inline();
    unsigned poll_receives();
    unsigned poll_sends();
    bool sends_due() noexcept;
    void look_around();
    void on_sent(const ibv_wc &wc);
    void sends_done(Peer &peer);
    void retired(Peer &peer, Slot slot, be_status_t status);
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
    void open_queues(Peer &peer);
    void close_queues(Peer &peer) noexcept;
    void destroy_queues(Peer &peer) noexcept;
    control::ConnectInfo connect_info(const Peer &peer) const;
    control::ConnectInfo first_info(Peer &peer);
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

    // replay.cpp
    bool replay(Peer &peer);
    bool needed_again(const Peer &peer, const Slot &slot) const noexcept;
    bool arrived(const Peer &peer, const Slot &slot) const noexcept;
    int repost_message(Peer &peer, const Slot &slot, std::uint64_t number);
    int repost_bulk(Peer &peer, const Slot &slot, std::uint64_t number);
    int repost_count(Peer &peer, const Slot &slot, std::uint64_t number);

    // failure.cpp
    void fail(Peer &peer, be_status_t status, std::string_view why);
    void depart(Peer &peer);
    void begin_drain(Peer &peer, be_status_t status);
    void await_drain(Peer &peer);
    void expect(Peer &peer);
    unsigned finish_drains();
    void take_last_arrivals();
    void finish_drain(Peer &peer);
    void report(Link &link);
    void free_dead_peers();
    void remove_peer(Peer &peer);
    be_status_t unusable(Link &link);
    void io_failure(Peer &peer, const char *what, int error);
    std::string refused(const char *what, int error) const;

    // messages.cpp
    be_status_t admit(Link &link);
    be_status_t admit_packed(Link &link);
    be_status_t admit_closely(Link &link, unsigned parked);
    be_status_t no_staging(Link &link);
    be_status_t refuse(Link &link, bool short_of = false);
    ssize_t send_or_park(Link &link, Parked &message, ssize_t sent);
    bool has_credit(Link &link);
    void reclaim_sends();
    int post(Peer &peer, SendQueue &queue, ibv_send_wr &wr, const Slot &slot,
             bool signal) noexcept;
    std::byte *new_record(Link &link, std::size_t length, Slot &slot);
    be_status_t
    post_inline(Link &link, std::uint8_t am_id, std::byte *record, const Slot &slot);
    be_status_t post_message(Peer &peer, const MessageHeader &message, const Slot &slot,
                             ibv_sge *sges, int sge_count, unsigned flags, bool signal);

    // receive.cpp
    void on_arrival(const ibv_wc &wc, std::uint64_t time);
    void on_message(const ibv_wc &wc, Peer *peer, std::uint64_t time);
    void on_message(Peer &peer, std::span<std::byte> message, std::uint64_t time);
    Member *admit_message(Peer &peer, const core::DataHeader &header, std::size_t length,
                          std::uint64_t time);
    bool take_message(Peer &peer, const core::DataHeader &header, std::uint64_t time);
    void on_failed_receive(const ibv_wc &wc, Peer *peer);
    bool bytes_arrived(Peer &peer, std::size_t length, std::uint64_t time);
    void drop_message(Peer *peer, std::uint64_t time, const char *why);

    // credit.cpp
    void execute(core::Actions &actions);
    void execute(Peer &peer, const core::Action &action);
    void drain_actions();
    void defer(Peer &peer);
    unsigned retry_deferred();
    void write_cell(Peer &peer);
    bool make_word(Word &word, std::uint64_t value);
    int post_word(Peer &peer, SendQueue &queue, Word &word, Slot slot,
                  std::uint64_t remote, bool signal);
    void return_credit(Peer &peer);
    void read_cell(Peer &peer);
    void look_for_bytes();
    bool fall_asleep();
    std::uint64_t due_ns() const noexcept;

    // notices.cpp
    void notify(Peer &peer, core::Notice::Kind kind, std::uint32_t value);
    bool send_notice(Peer &peer, core::Notice::Kind kind);
    void send_notices(Peer &peer);
    void on_notice(Peer &peer, const ibv_wc &wc, std::uint64_t time);
    void on_notice(Peer &peer, std::uint32_t immediate, std::uint32_t bytes,
                   std::uint64_t time);
    bool take_notice(Peer &peer, const core::Notice &notice, std::uint32_t bytes,
                     std::uint64_t time, core::Actions &actions);
    bool notice_received();
    bool post_notice_receives(unsigned count);

    // parked.cpp
    bool park_unless_covered(Link &link, const Parked &message);
    void unpark(Peer &peer);
    void ask_for_bytes(Peer &peer);
    void drop_parked(Peer &peer);

    // remote.cpp
    be_status_t admit_bulk(Link &link, BulkOperation::Kind kind);
    be_status_t queue_short(Link &link, const void *data, unsigned length,
                            std::uint64_t remote, std::uint32_t rkey);
    memory::Buffer start_staged(BulkOperation::Kind kind, std::uint64_t remote,
                                std::uint32_t rkey, BulkOperation **operation);

    // bulk.cpp
    void enqueue(Link &link, BulkOperation *operation, std::size_t length);
    void offer(BulkOperation &operation);
    void operation_over(Link &link, unsigned kind);
    void pump_bulk();
    void post_admitted(Peer &peer);
    bool post_admitted(Peer &peer, BulkOperation::Kind kind);
    void lend_admitted(Peer &peer, BulkOperation::Kind held);
    int post_write(Peer &peer, ibv_send_wr &wr, Slot &slot, bool signal);
    void announce_write(Peer &peer, ibv_send_wr &wr);
    bool post_piece(Peer &peer, BulkOperation &operation, std::size_t bytes);
    void cancel_operation(BulkOperation &operation);
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
    void mark_tails(Peer &peer);
    void mark_drains(Peer &peer);
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
    SendAccount m_sends;
    verbs::CompletionChannel m_channel;
    verbs::CompletionQueue m_receive_cq;
    verbs::CompletionQueue m_send_cq;
    ReceiveRing m_receives;
    verbs::SharedReceiveQueue m_notice_srq; // without memory: only completions matter
    memory::BufferPool m_staging;
    core::Flow m_flow;
    const std::size_t m_chunk; // bulk is cut into pieces of this many bytes
    BulkOperations m_operations;
    Stock<Parked> m_parked;
    Timer m_timer; // with byte credit: it wants to hear of the time also while all sleep

    // Members
    MemberLock m_lock;
    Recoverer m_recoverer;
    TcpPath m_tcp;
    RecoveryRecord m_record;
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
    QueueDirectory m_queues;

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
    std::vector<Peer *> m_expected; // both began at once; the other's Connect is to come
    std::vector<Peer *> m_deferred; // with *_deferred
    std::vector<Peer *> m_retrying; // storage of retry_deferred()
    std::vector<std::unique_ptr<Peer>> m_dead;
    Stock<Flush> m_flushes;
    Stock<FlushWaiter> m_waiters;

    bool m_free_due             = false; // m_dead may hold one that nobody references
    bool m_receives_wanted      = false;
    bool m_bulk_due             = false; // more of it may be admitted
    bool m_receive_error_logged = false;
    bool m_queue_failed         = false;
    unsigned m_notice_surplus   = 0; // receives posted on behalf of peers that are gone
    unsigned m_notices_missing  = 0; // receives used up and not posted again
    unsigned m_max_inline       = 0;
    unsigned m_max_short        = 0; // payload of a message that goes inline
    FabricCounters m_counters;
};

} // namespace be::engine
