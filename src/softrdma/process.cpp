// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include "clock.h"
#include "context.h"
#include "cq.h"
#include "guard.h"
#include "log.h"
#include "mr.h"
#include "qp.h"
#include "reclaim.h"
#include "srq.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace softrdma {
namespace {

std::mutex creation_mutex;
bool creation_failed = false;

// Passes over what peers left that a thread makes before it goes on with what it came for, and leaves the rest to
// the service thread: relayed requests may come without end.
constexpr int passes = 4;

// Of a process that is not dumpable nothing can be reached, not even the segment. Found out here and not by the
// first operation.
bool may_be_reached(std::string &error)
{
    if (prctl(PR_GET_DUMPABLE) != 1) {
        error = "this process is not dumpable (set-id or PR_SET_DUMPABLE), so that its "
                "peers cannot "
                "reach its memory";
        return false;
    }
    // Yama's scope 1 lets only ancestors in, unless the process says otherwise; without Yama it fails.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    return true;
}

} // namespace

std::atomic<process *> process::s_instance{nullptr};
std::atomic<process *> process::s_starting{nullptr};

process::process(const settings &config_, uint64_t seed) :
    config(config_),
    peers(*this),
    background(*this),
    faults(*this),
    net(*this),
    relays(*this),
    served(*this),
    qps(2, limits::qps, seed * 257),
    cqs(1, limits::cqs, 0),
    srqs(1, limits::srqs, 0),
    mrs(1, limits::mrs, seed * 61),
    windows(*this),
    contexts(1, 1024, 0)
{
}

process *process::create()
{
    process *known = get();
    if (known != nullptr) {
        return known;
    }

    std::lock_guard lock(creation_mutex);
    if ((get() != nullptr) || creation_failed) {
        return get();
    }

    settings config = settings::from_environment();
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    process *fresh = new process(config, uint64_t(now.tv_nsec) ^ uint64_t(getpid()));
    std::string error;
    s_starting.store(fresh, std::memory_order_release);
    const bool started = fresh->start(error);
    s_starting.store(nullptr, std::memory_order_release);
    if (!started) {
        log_line(log_level::error, "the software device is not available: %s",
                 error.c_str());
        fresh->reg.release();
        delete fresh;
        creation_failed = true;
        return nullptr;
    }
    s_instance.store(fresh, std::memory_order_release);

    static bool hooked = false;
    if (!hooked) {
        hooked = true;
        pthread_atfork(
                [] {
                    creation_mutex.lock();
                    lock_contexts_for_fork();
                },
                [] {
                    unlock_contexts_after_fork(false);
                    creation_mutex.unlock();
                },
                after_fork_in_child);
        atexit(at_exit);
    }
    return fresh;
}

bool process::start(std::string &error)
{
    if (!may_be_reached(error) || !reg.attach(config.domain, error) ||
        !seg.create(reg.own_slot(), reg.own_generation(), error) ||
        !background.open(error)) {
        return false;
    }
    m_token = make_token(reg.own_slot(), reg.own_generation());
    net.start();
    for (uint32_t device = 0; device < config.devices; ++device) {
        reg.shape(reg.own_slot(), device, config.fabric);
    }
    link_layer link = config.ethernet ? link_layer::ethernet : link_layer::infiniband;
    reg.publish(seg.fd(), background.doorbell_fd(), config.devices, link);
    pid_t stranger = reg.differently_linked(link);
    if (stranger != 0) {
        SOFTRDMA_LOG(warn,
                     "SOFTRDMA_LINK is %s here and %s in process %d of domain '%s': they "
                     "cannot connect",
                     config.ethernet ? "eth" : "ib", config.ethernet ? "ib" : "eth",
                     stranger, config.domain.c_str());
    }
    execution_guard guard(reg, reg.own_slot());
    m_self = peers.find(reg.own_slot());
    for (const fault &wanted : config.faults) {
        faults.schedule(wanted, now_ns());
    }
    return m_self != nullptr;
}

void process::after_fork_in_child()
{
    // The parent's object stays untouched in the child's memory: its locks may be held by threads that
    // do not exist here, and its mappings were not inherited.
    s_instance.store(nullptr, std::memory_order_release);
    unlock_contexts_after_fork(true);
    creation_mutex.unlock();
}

void process::at_exit()
{
    process *own = get();
    if (own != nullptr) {
        own->reg.release();
    }
}

// Watches those who attached here: so that their death is noticed also where nothing is sent back.
void process::greet_visitors()
{
    for (uint32_t word = 0; word < limits::processes / 64; ++word) {
        uint64_t bits = seg.base()->visitors[word].exchange(0, std::memory_order_acquire);
        for (; bits != 0; bits &= bits - 1) {
            uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
            // Not by attaching: one that is dying cannot be attached to, but is not dead yet.
            uint64_t holder = reg.entry(slot).holder.load(std::memory_order_acquire);
            pid_t pid       = static_cast<pid_t>(reg.entry(slot).pid.load());
            if (!background.watch(slot, holder, pid) || !reg.alive(slot, holder)) {
                reclaim_from_dead(*this);
            }
        }
    }
}

void process::handle_attention()
{
    // Who finds another thread at it leaves it to that one, which looks again when it is done.
    for (int pass = 0; attention_wanted(); ++pass) {
        if (pass == passes) {
            background.wake();
            return;
        }
        std::unique_lock lock(m_attention_mutex, std::try_to_lock);
        if (!lock.owns_lock()) {
            return;
        }
        uint64_t now    = seg.base()->attention.load(std::memory_order_seq_cst);
        uint64_t before = m_attention_seen.exchange(now, std::memory_order_relaxed);
        if (now / relay_call != before / relay_call) {
            served.serve();
            relays.resume();
        }
        if (now % relay_call != before % relay_call) {
            look_at_everything();
        }
        lock.unlock();
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

void process::look_at_everything()
{
    greet_visitors();
    for (const auto &cq : cqs.snapshot()) {
        cq->check_overrun();
    }
    for (const auto &srq : srqs.snapshot()) {
        srq->check_limit();
    }
    for (const auto &qp : qps.snapshot()) {
        qp->check_reports();
    }
}

} // namespace softrdma
