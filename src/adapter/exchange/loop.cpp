// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/loop.hpp"

#include <byteexpress/status.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <semaphore>
#include <string>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace be::adapter::exchange {

namespace {

constexpr std::uint64_t wake_key = 0;

} // namespace

Loop::Loop()
{
    m_epoll = epoll_create1(EPOLL_CLOEXEC);
    m_wake  = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    epoll_event event{};
    event.events   = EPOLLIN;
    event.data.u64 = wake_key;
    if ((m_epoll < 0) || (m_wake < 0) ||
        (epoll_ctl(m_epoll, EPOLL_CTL_ADD, m_wake, &event) != 0)) {
        const std::string why = std::strerror(errno);
        ::close(m_epoll);
        ::close(m_wake);
        throw Error(Status::closed, "the control thread gets no descriptors: " + why);
    }
    m_thread = std::thread([this] { main(); });
}

Loop::~Loop()
{
    stop();
    ::close(m_epoll);
    ::close(m_wake);
}

void Loop::stop()
{
    {
        std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    wake();
    if (m_thread.joinable()) {
        m_thread.join();
    }
}

void Loop::wake() noexcept
{
    const std::uint64_t one = 1;
    // fails only when the counter is full, and then the thread is woken anyway
    [[maybe_unused]] const ssize_t n = write(m_wake, &one, sizeof(one));
}

void Loop::post(std::function<void()> function)
{
    {
        std::lock_guard lock(m_mutex);
        if (m_stopping) {
            return;
        }
        m_posted.push_back(std::move(function));
    }
    wake();
}

void Loop::run(std::function<void()> function)
{
    // Released when the closure ends, whether it was run or dropped.
    struct Releaser {
        explicit Releaser(std::binary_semaphore &to_release) : semaphore(to_release)
        {
        }
        ~Releaser()
        {
            semaphore.release();
        }
        Releaser(const Releaser &)            = delete;
        Releaser &operator=(const Releaser &) = delete;
        std::binary_semaphore &semaphore;
    };
    std::binary_semaphore done(0);
    post([releaser = std::make_shared<Releaser>(done), body = std::move(function)] {
        body();
    });
    done.acquire();
}

std::uint64_t
Loop::watch(int fd, std::uint32_t events, std::shared_ptr<Watcher> watcher) noexcept
{
    const std::uint64_t key = m_next_key++;
    epoll_event event{};

    event.events   = events;
    event.data.u64 = key;
    if (epoll_ctl(m_epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        return 0;
    }
    m_watchers.emplace(key, std::move(watcher));
    return key;
}

void Loop::change(std::uint64_t key, int fd, std::uint32_t events) noexcept
{
    epoll_event event{};

    event.events   = events;
    event.data.u64 = key;
    epoll_ctl(m_epoll, EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(std::uint64_t key, int fd) noexcept
{
    if (m_watchers.erase(key) != 0) {
        epoll_ctl(m_epoll, EPOLL_CTL_DEL, fd, nullptr);
    }
}

// False when it is time to end.
bool Loop::run_posted()
{
    std::vector<std::function<void()>> posted;
    bool stopping = false;
    {
        std::lock_guard lock(m_mutex);
        posted.swap(m_posted);
        stopping = m_stopping;
    }
    for (const auto &function : posted) {
        function();
    }
    return !stopping;
}

void Loop::main()
{
    std::array<epoll_event, 64> events;

    while (run_posted()) {
        const auto next   = timers.next(Clock::now());
        const int timeout = next ? static_cast<int>(
                                           std::chrono::ceil<std::chrono::milliseconds>(
                                                   *next)
                                                   .count()) :
                                   -1;
        const int count   = epoll_wait(m_epoll, events.data(),
                                       static_cast<int>(events.size()), timeout);
        for (int i = 0; i < count; i++) {
            const std::uint64_t key = events[i].data.u64; // epoll_event is packed
            if (key == wake_key) {
                std::uint64_t value;
                [[maybe_unused]] const ssize_t n = read(m_wake, &value, sizeof(value));
                continue;
            }
            // one that came before may have ended this one
            const auto at = m_watchers.find(key);
            if (at != m_watchers.end()) {
                const std::shared_ptr<Watcher> watcher = at->second;
                watcher->on_events(events[i].events);
            }
        }
        timers.advance(Clock::now());
    }
    auto watchers = std::move(m_watchers);
    watchers.clear();
}

} // namespace be::adapter::exchange
