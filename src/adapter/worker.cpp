// SPDX-License-Identifier: BSD-3-Clause
//
// The lock, and who makes progress: the worker's thread and its helpers.
#include "adapter/worker.hpp"

#include "adapter/completion.hpp"
#include "adapter/request_state.hpp"

#include <semaphore>

#include <sched.h>

namespace be::adapter {

namespace {

// Posting from under a lock, be it of another worker, must not run anything: user code
// could follow.
thread_local bool t_under_lock = false;

thread_local Worker *t_worker = nullptr; // whose thread this is

// Two processes that poll on one core crawl unless they let each other run.
constexpr unsigned rounds_between_yields = 100;

// Of each turn, so that neither priority can starve the other, nor progress.
constexpr size_t requests_a_turn      = 8;
constexpr size_t bulk_requests_a_turn = 1;

struct Closure : Posted {
    explicit Closure(std::function<void()> body) :
        Posted(&call), function(std::move(body))
    {
    }
    static void call(Posted &item)
    {
        std::unique_ptr<Closure> self(static_cast<Closure *>(&item));
        self->function();
    }
    std::function<void()> function;
};

} // namespace

void Worker::lock()
{
    m_mutex.lock();
    t_under_lock = true;
    m_now.reset();
}

bool Worker::try_lock()
{
    if (!m_mutex.try_lock()) {
        return false;
    }
    t_under_lock = true;
    m_now.reset();
    return true;
}

// What was posted while the lock was held is run by its holder, who looks once more after
// letting go: a thread that posts, and then finds the lock taken, has posted before that
// look.
void Worker::unlock_and_settle()
{
    Completion *finished = nullptr;
    for (;;) {
        Completion *some = std::exchange(m_finished, nullptr);
        t_under_lock     = false;
        m_mutex.unlock();
        finished = Completion::join(some, finished);
        if (m_posted.empty() || !try_lock()) {
            break;
        }
        m_posted.run();
    }
    Completion::settle(finished);
}

void Worker::post(Posted &item)
{
    m_posted.push(item);
    if (!t_under_lock && try_lock()) {
        m_posted.run();
        unlock_and_settle();
    }
    if (m_helpers.load(std::memory_order_seq_cst) == 0) {
        wake();
    }
}

void Worker::post(std::function<void()> function)
{
    post(*new Closure(std::move(function)));
}

void Worker::hand_over(std::function<void()> function)
{
    m_posted.push(*new Closure(std::move(function)));
    if (m_helpers.load(std::memory_order_seq_cst) == 0) {
        wake();
    }
}

void Worker::run(const std::function<void()> &function)
{
    std::binary_semaphore done(0);

    post([&] {
        function();
        done.release();
    });
    done.acquire();
}

void Worker::finished(Completion &what) noexcept
{
    what.next_finished = m_finished;
    m_finished         = &what;
}

void Worker::arrived(std::shared_ptr<RequestState> request, bool bulk)
{
    (bulk ? m_arrived_bulk : m_arrived).push_back(std::move(request));
}

unsigned Worker::round()
{
    m_now.reset();
    unsigned count = ucp_worker_progress(m_worker);

    count += m_posted.run();
    if (!timers.empty()) {
        count += timers.advance(now());
    }
    return count + bury();
}

// One turn of the worker's thread.
bool Worker::drive()
{
    lock();
    unsigned count = round();
    for (size_t i = 0; (i < requests_a_turn) && !m_arrived.empty(); i++) {
        m_batch.push_back(std::move(m_arrived.front()));
        m_arrived.pop_front();
    }
    for (size_t i = 0; (i < bulk_requests_a_turn) && !m_arrived_bulk.empty(); i++) {
        m_batch.push_back(std::move(m_arrived_bulk.front()));
        m_arrived_bulk.pop_front();
    }
    const Clock::time_point read = m_batch.empty() ? Clock::time_point() : now();
    unlock_and_settle();

    count += static_cast<unsigned>(m_batch.size());
    run_requests(read);
    return count != 0;
}

void Worker::run_requests(Clock::time_point now)
{
    for (std::shared_ptr<RequestState> &request : m_batch) {
        RequestState::run(std::move(request), now);
        now = Clock::now(); // the handler took its time
    }
    m_batch.clear();
}

Worker::Helper::Helper(Worker &worker) : m_worker(worker)
{
    m_worker.m_helpers.fetch_add(1, std::memory_order_seq_cst);
}

Worker::Helper::~Helper()
{
    m_worker.m_helped.store(true, std::memory_order_relaxed);
    if ((m_worker.m_helpers.fetch_sub(1, std::memory_order_seq_cst) == 1) &&
        ((m_worker.m_expected > 0) || !m_worker.m_posted.empty())) {
        m_worker.wake();
    }
}

bool Worker::help()
{
    if (!try_lock()) {
        return false;
    }
    const bool something = round() != 0;
    const bool requests  = !m_arrived.empty() || !m_arrived_bulk.empty();
    unlock_and_settle();
    if (requests) {
        wake();
    }
    return something;
}

bool Worker::Helper::progress()
{
    const bool something = m_worker.help();

    if (something) {
        m_idle = 0;
    } else if (++m_idle % rounds_between_yields == 0) {
        sched_yield();
    }
    return something;
}

Worker *Worker::current() noexcept
{
    return t_worker;
}

void Worker::attend(Worker &other, Clock::time_point &idle_since)
{
    if (stopped()) {
        lock();
        stop_residents(); // ends what the handler waits for, if it is ours
        unlock_and_settle();
    }
    bool something = help();
    if ((&other != this) && other.help()) {
        something = true;
    }
    const Clock::time_point now = Clock::now();
    if (something) {
        idle_since = now;
    } else if (now - idle_since < m_options.spin) {
        sched_yield();
    } else if (&other == this) {
        sleep();
    } else {
        lend();
    }
}

void Worker::thread_main()
{
    Clock::time_point since{};
    unsigned rounds = 0;

    t_worker = this;
    while (!m_stop.load(std::memory_order_relaxed)) {
        if (drive()) {
            since  = {};
            rounds = 0;
        } else if ((m_options.progress != Progress::polling) &&
                   (m_serving.load(std::memory_order_relaxed) == 0) &&
                   ((m_helpers.load(std::memory_order_relaxed) > 0) ||
                    m_helped.exchange(false, std::memory_order_relaxed))) {
            lend();
            since = {};
        } else {
            idle(since, rounds);
        }
    }
    end();
}

void Worker::idle(Clock::time_point &since, unsigned &rounds)
{
    if (m_options.progress == Progress::event_driven) {
        sleep();
        return;
    }
    if (++rounds % rounds_between_yields == 0) {
        sched_yield();
    }
    if (m_options.progress == Progress::polling) {
        return;
    }
    const Clock::time_point now = Clock::now();
    if (since == Clock::time_point{}) {
        since = now;
    } else if (now - since >= m_options.spin) {
        sleep();
        since = {};
    }
}

} // namespace be::adapter
