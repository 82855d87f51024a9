// SPDX-License-Identifier: BSD-3-Clause
//
// Which thread runs the reactor: one at a time, the one that has the turn. Its own thread has it, but lends it to a worker
// that waits for what comes over the channel: handing over to another thread and back costs more than 64 KiB of data
// that way. The owner takes it back when the worker says so, and when it has not used the turn for a while: an application
// that computes leaves the channel alone.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace be::control {

class Turn {
public:
    // How long a loan may stay unused. Peers ask for signs of life no more often than each 3 ms.
    static constexpr auto patience = std::chrono::milliseconds(2);

    // Owner. While nobody has asked for the turn it goes on; then it lets the turn go and calls wait().
    void take();
    void let_go() noexcept;
    bool is_lent() const noexcept
    {
        return m_is_lent.load(std::memory_order_relaxed);
    }

    // Owner: returns when the loan is over.
    void wait();

    // Any thread but the owner: asks for the turn. True when nobody had, and the owner is to be woken.
    bool ask() noexcept;

    // Any thread, when is_lent(): the turn, if nobody has it now. Never waits.
    class Use {
    public:
        explicit Use(Turn &turn) noexcept : m_turn(turn.borrow() ? &turn : nullptr)
        {
        }
        ~Use()
        {
            if (m_turn != nullptr) {
                m_turn->let_go();
            }
        }
        Use(const Use &)            = delete;
        Use &operator=(const Use &) = delete;

        explicit operator bool() const noexcept
        {
            return m_turn != nullptr;
        }

    private:
        Turn *const m_turn;
    };

    // Any thread: the loan is over, if there is one.
    void give_back() noexcept;

    // The turn is this thread's.
    bool is_mine() const noexcept
    {
        return m_holder.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

private:
    bool borrow() noexcept;

    std::mutex m_turn; // locked by who has it
    std::atomic<std::thread::id> m_holder{};
    std::atomic<unsigned> m_uses{0}; // of loans

    std::mutex m_mutex;
    std::condition_variable m_over;
    std::atomic<bool> m_is_lent{false}; // or asked for; changed under the mutex
};

} // namespace be::control
