// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include "clock.h"
#include "log.h"
#include "process.h"
#include "qp.h"
#include "resource_limit.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>

namespace softrdma {
namespace {

// What an epoll entry stands for: 0 the doorbell, 1 the timer, else a process (slot << 48 | generation).
constexpr uint64_t doorbell_key = 0;
constexpr uint64_t timer_key    = 1;

// Retries are left to polling threads for so long: they are on a processor already. To look after them in vain costs
// such a thread its processor for tens of microseconds, so it is done less and less often.
constexpr uint64_t least_head_start_ns = 50'000;
constexpr uint64_t most_head_start_ns  = 1'600'000;

uint64_t process_key(uint32_t slot, uint64_t generation)
{
    return (uint64_t{slot} << 48) | (generation & 0xffffffffffff);
}

bool add_to_epoll(int epoll, int fd, uint64_t key, uint32_t extra = 0)
{
    epoll_event event{};
    event.events   = EPOLLIN | extra;
    event.data.u64 = key;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void drain(int fd)
{
    char bytes[512];
    while (read(fd, bytes, sizeof(bytes)) > 0) {
    }
}

} // namespace

service::~service()
{
    for (int fd : {m_doorbell[0], m_doorbell[1], m_epoll, m_timer}) {
        if (fd >= 0) {
            close(fd);
        }
    }
}

bool service::open(std::string &error)
{
    m_epoll = epoll_create1(EPOLL_CLOEXEC);
    m_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if ((pipe2(m_doorbell, O_CLOEXEC | O_NONBLOCK) != 0) || (m_epoll < 0) ||
        (m_timer < 0) || !add_to_epoll(m_epoll, m_doorbell[0], doorbell_key) ||
        !add_to_epoll(m_epoll, m_timer, timer_key)) {
        error = "service descriptors: " + describe_failure(errno);
        return false;
    }
    return true;
}

void service::start()
{
    std::lock_guard lock(m_mutex);
    if (m_started) {
        return;
    }
    m_started = true;

    // Signals belong to the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread([this] { run(); }).detach();
    } catch (const std::exception &failure) {
        m_started = false;
        SOFTRDMA_LOG_ONCE(error,
                          "service thread: %s; retries wait for the application to poll",
                          failure.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool service::watch(uint32_t slot, uint64_t generation, pid_t pid)
{
    uint64_t key = process_key(slot, generation);
    {
        std::lock_guard lock(m_mutex);
        if (m_watched.contains(key)) {
            return true;
        }
        int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
        if ((fd < 0) && (errno == ESRCH)) {
            return false;
        }
        if ((fd < 0) || !add_to_epoll(m_epoll, fd, key, EPOLLONESHOT)) {
            SOFTRDMA_LOG_ONCE(error, "the death of process %d will not be noticed: %s",
                              pid, describe_failure(errno).c_str());
            if (fd >= 0) {
                close(fd);
            }
            return true;
        }
        m_watched.emplace(key, fd);
    }
    start();
    return true;
}

void service::follow_death(uint64_t key)
{
    {
        std::lock_guard lock(m_mutex);
        auto found = m_watched.find(key);
        if (found != m_watched.end()) {
            close(found->second);
            m_watched.erase(found);
        }
    }
    m_owner.peers.mark_dead(static_cast<uint32_t>(key >> 48), key & 0xffffffffffff);
}

void service::add_waiting(std::shared_ptr<queue_pair> qp)
{
    {
        std::lock_guard lock(m_mutex);
        m_waiting.push_back(std::move(qp));
        m_waiting_count.store(static_cast<uint32_t>(m_waiting.size()),
                              std::memory_order_relaxed);
    }
    start();
}

void service::retry_at(uint64_t when)
{
    when += m_head_start.load(std::memory_order_relaxed);
    // Either set_timer() sees the new deadline, or this sees that it is looking.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (when < m_armed.load(std::memory_order_relaxed)) {
        std::lock_guard lock(m_mutex);
        if (when < m_armed.load(std::memory_order_relaxed)) {
            arm(when);
        }
    }
}

void service::wake()
{
    char byte                        = 0;
    [[maybe_unused]] ssize_t written = write(m_doorbell[1], &byte, 1);
}

void service::remove_waiting(const queue_pair *qp)
{
    std::lock_guard lock(m_mutex);
    std::erase_if(m_waiting, [&](const auto &entry) { return entry.get() == qp; });
    m_waiting_count.store(static_cast<uint32_t>(m_waiting.size()),
                          std::memory_order_relaxed);
}

bool service::retry_due(uint64_t time)
{
    // Copied only as far as something is due: polling threads come here all the time.
    std::vector<std::shared_ptr<queue_pair>> due;
    {
        std::lock_guard lock(m_mutex);
        for (const auto &qp : m_waiting) {
            if (qp->deadline() <= time) {
                due.push_back(qp);
            }
        }
    }
    for (const auto &qp : due) {
        qp->retry();
    }
    return !due.empty();
}

void service::retry_due()
{
    if (m_head_start.load(std::memory_order_relaxed) == 0) {
        m_head_start.store(least_head_start_ns, std::memory_order_relaxed);
    }
    retry_due(now_ns());
}

void service::expect_sleep()
{
    m_head_start.store(0, std::memory_order_relaxed);
    if (!any_waiting()) {
        return;
    }
    std::lock_guard lock(m_mutex);
    uint64_t first = UINT64_MAX;
    for (const auto &qp : m_waiting) {
        first = std::min(first, qp->deadline());
    }
    if (first < m_armed.load(std::memory_order_relaxed)) {
        arm(first);
    }
}

// What it was good for to wake up at that time.
void service::adapt_head_start(bool any_due)
{
    uint64_t now    = m_head_start.load(std::memory_order_relaxed);
    uint64_t wanted = any_due ? std::min(now, least_head_start_ns) :
                                std::clamp(2 * now, least_head_start_ns,
                                           most_head_start_ns);
    m_head_start.compare_exchange_strong(now, wanted, std::memory_order_relaxed);
}

void service::set_timer()
{
    uint64_t first = m_owner.faults.deadline();
    std::lock_guard lock(m_mutex);
    uint64_t head_start = m_head_start.load(std::memory_order_relaxed);
    m_armed.store(UINT64_MAX, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const auto &qp : m_waiting) {
        uint64_t deadline = qp->deadline();
        if (deadline != UINT64_MAX) {
            first = std::min(first, deadline + head_start);
        }
    }
    arm(first);
}

// With the lock held.
void service::arm(uint64_t when)
{
    m_armed.store(when, std::memory_order_relaxed);
    itimerspec at{};
    if (when != UINT64_MAX) {
        when                = std::max<uint64_t>(when, 1); // 0 would disarm
        at.it_value.tv_sec  = static_cast<time_t>(when / 1'000'000'000);
        at.it_value.tv_nsec = static_cast<long>(when % 1'000'000'000);
    }
    timerfd_settime(m_timer, TFD_TIMER_ABSTIME, &at, nullptr);
}

void service::run()
{
    pthread_setname_np(pthread_self(), "softrdma");
    for (;;) {
        set_timer();
        epoll_event events[16];
        int count  = epoll_wait(m_epoll, events, 16, -1);
        bool timed = false;
        for (int i = 0; i < count; ++i) {
            uint64_t key = events[i].data.u64;
            if (key == doorbell_key) {
                drain(m_doorbell[0]);
            } else if (key == timer_key) {
                drain(m_timer);
                timed = true;
            } else {
                follow_death(key);
            }
        }
        m_owner.faults.run();
        m_owner.handle_attention();
        bool any_due = retry_due(now_ns() - m_head_start.load(std::memory_order_relaxed));
        if (timed) {
            adapt_head_start(any_due);
        }
    }
}

} // namespace softrdma
