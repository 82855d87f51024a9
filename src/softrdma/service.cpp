// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include "clock.h"
#include "log.h"
#include "process.h"
#include "qp.h"

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

// What an epoll entry stands for: 0 the doorbell, 1 the timer, else a peer (slot << 48 | generation).
constexpr uint64_t doorbell_key = 0;
constexpr uint64_t timer_key    = 1;

uint64_t peer_key(const peer &other)
{
    return (uint64_t{other.slot} << 48) | (other.generation & 0xffffffffffff);
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
        error = std::string("service descriptors: ") + strerror(errno);
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

void service::watch(peer &other)
{
    int fd = static_cast<int>(syscall(SYS_pidfd_open, other.pid, 0));
    if (fd < 0) {
        if (errno == ESRCH) {
            other.dead.store(true, std::memory_order_release);
        }
        return;
    }
    {
        std::lock_guard lock(m_mutex);
        m_watched.emplace(peer_key(other), fd);
    }
    add_to_epoll(m_epoll, fd, peer_key(other), EPOLLONESHOT);
    start();
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
    wake();
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

std::vector<std::shared_ptr<queue_pair>> service::waiting()
{
    std::lock_guard lock(m_mutex);
    return m_waiting;
}

void service::retry_due()
{
    uint64_t now = now_ns();
    for (const auto &qp : waiting()) {
        if (qp->deadline() <= now) {
            qp->retry();
        }
    }
}

void service::set_timer()
{
    uint64_t first = m_owner.faults.deadline();
    for (const auto &qp : waiting()) {
        first = std::min(first, qp->deadline());
    }
    if (first == UINT64_MAX) {
        return;
    }
    first = std::max<uint64_t>(first, 1); // 0 would disarm
    itimerspec when{};
    when.it_value.tv_sec  = static_cast<time_t>(first / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(first % 1'000'000'000);
    timerfd_settime(m_timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

void service::run()
{
    pthread_setname_np(pthread_self(), "softrdma");
    for (;;) {
        set_timer();
        epoll_event events[16];
        int count = epoll_wait(m_epoll, events, 16, -1);
        for (int i = 0; i < count; ++i) {
            uint64_t key = events[i].data.u64;
            if (key == doorbell_key) {
                drain(m_doorbell[0]);
            } else if (key == timer_key) {
                drain(m_timer);
            } else {
                m_owner.peers.mark_dead(static_cast<uint32_t>(key >> 48),
                                        key & 0xffffffffffff);
                std::lock_guard lock(m_mutex);
                auto found = m_watched.find(key);
                if (found != m_watched.end()) {
                    close(found->second);
                    m_watched.erase(found);
                }
            }
        }
        m_owner.faults.run();
        m_owner.handle_attention();
        retry_due();
    }
}

} // namespace softrdma
