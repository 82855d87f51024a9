// SPDX-License-Identifier: BSD-3-Clause
//
// How a worker's thread sleeps, how it is woken, and how it starts and ends.
#include "adapter/worker.hpp"

#include "adapter/request_state.hpp"

#include <array>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace be::adapter {

namespace {

// For connections to close when the runtime ends; a peer that does not answer gets no
// more.
constexpr std::chrono::seconds patience{3};

int to_milliseconds(std::optional<Clock::duration> time) noexcept
{
    if (!time) {
        return -1;
    }
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*time).count());
}

} // namespace

void Worker::start(std::function<void()> prepare)
{
    m_thread = std::thread([this, prepare = std::move(prepare)] {
        prepare();
        thread_main();
    });
}

void Worker::stop()
{
    if (m_thread.joinable()) {
        m_stop.store(true, std::memory_order_seq_cst);
        wake();
        m_thread.join();
    }
}

// Without the lock, rest == awake; with a thread that is not: m_rest was set before
// looking for work, and whoever makes work looks at m_rest after making it.
void Worker::wake() noexcept
{
    if (m_rest.load(std::memory_order_seq_cst) != Rest::awake &&
        m_rest.exchange(Rest::awake, std::memory_order_seq_cst) != Rest::awake) {
        const uint64_t one = 1;
        // fails only when the counter is full, and then the thread is woken anyway
        [[maybe_unused]] const ssize_t n = write(m_wake_fd, &one, sizeof(one));
    }
}

void Worker::rest(Rest kind, int timeout_ms) noexcept
{
    std::array<pollfd, 2> fds = {pollfd{m_wake_fd, POLLIN, 0},
                                 pollfd{m_transport_fd, POLLIN, 0}};

    poll(fds.data(), (kind == Rest::asleep) ? 2 : 1, timeout_ms);
    if ((fds[0].revents & POLLIN) != 0) {
        uint64_t count;
        [[maybe_unused]] const ssize_t n = read(m_wake_fd, &count, sizeof(count));
    }
    m_rest.store(Rest::awake, std::memory_order_seq_cst);
}

void Worker::sleep()
{
    lock();
    m_rest.store(Rest::asleep, std::memory_order_seq_cst);
    if (!m_posted.empty() || !m_arrived.empty() || !m_arrived_bulk.empty() ||
        m_stop.load(std::memory_order_seq_cst)) {
        m_rest.store(Rest::awake, std::memory_order_seq_cst);
        unlock_and_settle();
        return;
    }
    const ucs_status_t status = ucp_worker_arm(m_worker);
    const int timeout         = to_milliseconds(timers.next(Clock::now()));
    if (status == UCS_ERR_BUSY) {
        m_rest.store(Rest::awake, std::memory_order_seq_cst);
    }
    unlock_and_settle();
    if (status == UCS_OK) {
        counters.sleeps.add();
        rest(Rest::asleep, timeout);
    } else if (status != UCS_ERR_BUSY) {
        rest(Rest::lent, 1); // a transport that cannot wake anybody
    }
}

void Worker::lend()
{
    m_rest.store(Rest::lent, std::memory_order_seq_cst);
    if (!m_stop.load(std::memory_order_seq_cst)) {
        rest(Rest::lent, static_cast<int>(lease.count()));
    } else {
        m_rest.store(Rest::awake, std::memory_order_seq_cst);
    }
}

void Worker::stop_residents()
{
    for (Resident *resident : residents) {
        resident->on_stop();
    }
}

// The last that the thread does.
void Worker::end()
{
    lock();
    stop_residents();
    fail_all("the runtime is closed");
    m_flushed.insert(m_flushed.end(), m_leaving.begin(), m_leaving.end());
    const Clock::time_point until = Clock::now() + patience;
    do {
        round();
    } while (((m_closing != 0) || !m_failed.empty() || !m_flushed.empty()) &&
             (Clock::now() < until));
    auto arrived      = std::move(m_arrived);
    auto arrived_bulk = std::move(m_arrived_bulk);
    unlock_and_settle();
}

} // namespace be::adapter
