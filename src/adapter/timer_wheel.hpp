// SPDX-License-Identifier: BSD-3-Clause
//
// Deadlines of calls: most are set and never reached, so setting and clearing one is O(1)
// and takes no memory. One millisecond a slot; a deadline beyond the wheel waits in its
// slot for as many turns as it needs. A timer fires up to a slot late, never early.
//
// Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace be::adapter {

using Clock = std::chrono::steady_clock;

class TimerWheel;

class Timer {
public:
    using Fire = void (*)(Timer &);

    explicit Timer(Fire fire) noexcept : m_fire(fire)
    {
    }
    ~Timer()
    {
        clear();
    }
    Timer(const Timer &)            = delete;
    Timer &operator=(const Timer &) = delete;

    bool set() const noexcept
    {
        return m_wheel != nullptr;
    }
    inline void clear() noexcept;

private:
    friend class TimerWheel;

    Fire m_fire;
    TimerWheel *m_wheel = nullptr;
    Timer *m_previous   = nullptr;
    Timer *m_next       = nullptr;
    std::size_t m_slot  = 0;
    Clock::time_point m_due;
};

class TimerWheel {
public:
    static constexpr std::size_t slots = 1024;
    static constexpr std::chrono::milliseconds tick{1};

    explicit TimerWheel(Clock::time_point now) noexcept : m_tick(tick_of(now))
    {
    }

    bool empty() const noexcept
    {
        return m_count == 0;
    }

    // time_point::max() never fires. A timer that is set is set anew.
    void add(Timer &timer, Clock::time_point due) noexcept
    {
        timer.clear();
        if (due == Clock::time_point::max()) {
            return;
        }
        // the first tick that begins at or after `due`, and has not been visited
        std::size_t at = tick_of(due) + 1;
        if (at <= m_tick) {
            at = m_tick + 1;
        }
        timer.m_due   = due;
        timer.m_wheel = this;
        timer.m_slot  = at % slots;
        timer.m_next  = m_heads[timer.m_slot];
        if (timer.m_next != nullptr) {
            timer.m_next->m_previous = &timer;
        }
        timer.m_previous      = nullptr;
        m_heads[timer.m_slot] = &timer;
        m_count++;
    }

    // Fires what is due; a timer that fires may set and clear others. How many fired.
    unsigned advance(Clock::time_point now) noexcept
    {
        const std::size_t end = tick_of(now);
        unsigned fired        = 0;

        if (m_count == 0) {
            m_tick = (end > m_tick) ? end : m_tick;
            return 0;
        }
        // more than one turn visits every slot once
        if ((end > m_tick) && (end - m_tick > slots)) {
            m_tick = end - slots;
        }
        while (m_tick < end) {
            m_tick++;
            fired += visit(m_tick % slots, now);
        }
        return fired;
    }

    // Time until something may be due, at most a turn; nothing when no timer is set.
    std::optional<Clock::duration> next(Clock::time_point now) const noexcept
    {
        if (m_count == 0) {
            return std::nullopt;
        }
        for (std::size_t ahead = 1; ahead < slots; ahead++) {
            if (m_heads[(m_tick + ahead) % slots] != nullptr) {
                const Clock::time_point at{std::chrono::duration_cast<Clock::duration>(
                        tick * (m_tick + ahead))};
                return (at > now) ? at - now : Clock::duration::zero();
            }
        }
        return std::chrono::duration_cast<Clock::duration>(tick * slots);
    }

private:
    friend class Timer;

    static std::size_t tick_of(Clock::time_point time) noexcept
    {
        return static_cast<std::size_t>(time.time_since_epoch() / tick);
    }

    void remove(Timer &timer) noexcept
    {
        (timer.m_previous != nullptr ? timer.m_previous->m_next :
                                       m_heads[timer.m_slot]) = timer.m_next;
        if (timer.m_next != nullptr) {
            timer.m_next->m_previous = timer.m_previous;
        }
        if (m_cursor == &timer) {
            m_cursor = timer.m_next;
        }
        timer.m_wheel = nullptr;
        m_count--;
    }

    unsigned visit(std::size_t slot, Clock::time_point now) noexcept
    {
        unsigned fired = 0;

        // What fires may clear its neighbours: remove() moves the cursor on.
        m_cursor = m_heads[slot];
        while (m_cursor != nullptr) {
            Timer &timer = *m_cursor;
            m_cursor     = timer.m_next;
            if (timer.m_due <= now) {
                remove(timer);
                fired++;
                timer.m_fire(timer);
            }
        }
        return fired;
    }

    std::array<Timer *, slots> m_heads{};
    std::size_t m_count = 0;
    std::size_t m_tick; // the last one that was visited
    Timer *m_cursor = nullptr;
};

inline void Timer::clear() noexcept
{
    if (m_wheel != nullptr) {
        m_wheel->remove(*this);
    }
}

} // namespace be::adapter
