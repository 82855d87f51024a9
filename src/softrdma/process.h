// SPDX-License-Identifier: BSD-3-Clause
//
// Everything this process has of the device: its registry slot, segment, peers, objects and the service
// thread. There is one, created when the device list is first asked for and never destroyed (the
// service thread may use it until the very end). A forked child does not inherit it: the child's copies
// of the parent's objects fail with an error, and a child that asks for the device list gets its own.
//
// Thread rules: create() under its own lock; the members say theirs.
#pragma once

#include "events.h"
#include "fabric.h"
#include "faults.h"
#include "id_table.h"
#include "locked_memory.h"
#include "mw.h"
#include "pd.h"
#include "peer.h"
#include "registry.h"
#include "relay_pool.h"
#include "relay_server.h"
#include "segment.h"
#include "service.h"
#include "settings.h"

#include <memory>

namespace softrdma {

class queue_pair;
class completion_queue;
class shared_receive_queue;
class region;
struct device_context;

class process {
public:
    // The process's instance, created on first use; null when the device cannot work here, which has
    // been said on standard error.
    static process *create();

    // The instance, or null when there is none (also in a forked child).
    static process *get()
    {
        return s_instance.load(std::memory_order_acquire);
    }

    // The same, or the one that is being created: it takes locks already.
    static process *attached()
    {
        process *instance = get();
        return (instance != nullptr) ? instance :
                                       s_starting.load(std::memory_order_acquire);
    }

    owner_token token() const
    {
        return m_token;
    }

    // This process as a peer of itself.
    peer &self()
    {
        return *m_self;
    }

    // Acts on what peers left in the segment: queue pairs in error, limits reached, overruns, relayed requests.
    void handle_attention();

    // The same, although nobody said that there is anything.
    void look_again()
    {
        seg.base()->attention.fetch_add(1, std::memory_order_seq_cst);
        handle_attention();
    }

    bool attention_wanted() const
    {
        return seg.base()->attention.load(std::memory_order_relaxed) !=
               m_attention_seen.load(std::memory_order_relaxed);
    }

    const settings config;
    registry reg;
    segment seg;
    peer_table peers;
    service background;
    fault_injector faults;
    fabric net;
    relay_pool relays; // what others do for this process
    relay_server served; // what this one does for others
    event_registry events;
    id_table<queue_pair> qps;
    id_table<completion_queue> cqs;
    id_table<shared_receive_queue> srqs;
    id_table<region> mrs; // windows have their indices there, too
    window_table windows;
    id_table<device_context> contexts;
    domain_table domains;
    std::atomic<uint64_t> next_channel{1};
    locked_memory locked;

private:
    process(const settings &config, uint64_t seed);

    bool start(std::string &error);
    void look_at_everything();
    void greet_visitors();
    static void after_fork_in_child();
    static void at_exit();

    static std::atomic<process *> s_instance;
    static std::atomic<process *> s_starting;

    owner_token m_token = 0;
    peer *m_self        = nullptr;
    std::mutex m_attention_mutex;
    std::atomic<uint64_t> m_attention_seen{0};
};

} // namespace softrdma
