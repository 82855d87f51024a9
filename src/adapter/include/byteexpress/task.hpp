// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace be {

/**
 * A coroutine that gives one value. It starts at once, and its frame is freed when it has
 * ended and its Task is gone, or was detached.
 *
 * The end is told to one callback (on_done), on the thread that the coroutine ended on.
 * Threads: on_done() and the coroutine's end may race; everything else is the owner's.
 */
template<class T>
class Task {
public:
    /** Gets the value, or what the coroutine has thrown. */
    using Callback = std::function<void(std::optional<T> value, std::exception_ptr error)>;

    class promise_type;

    Task(Task &&other) noexcept       = default;
    Task &operator=(Task &&) noexcept = default;

    /**
     * Runs `callback` when the coroutine ends, or now if it has: with the value, or with
     * what was thrown. Once for each task.
     */
    void on_done(Callback callback) &&
    {
        auto shared      = std::move(m_shared);
        shared->callback = std::move(callback);
        Shared::arrive(shared);
    }

private:
    // Two arrive, the end of the coroutine and the callback; the second one delivers.
    struct Shared {
        std::optional<T> value;
        std::exception_ptr error;
        Callback callback;
        std::atomic<int> arrivals = 0;

        static void arrive(const std::shared_ptr<Shared> &shared)
        {
            if (shared->arrivals.fetch_add(1, std::memory_order_acq_rel) == 1) {
                shared->callback(std::move(shared->value), shared->error);
            }
        }
    };

    explicit Task(std::shared_ptr<Shared> shared) : m_shared(std::move(shared))
    {
    }

    std::shared_ptr<Shared> m_shared;
};

/** What the compiler makes a coroutine with. @cond */
template<class T>
class Task<T>::promise_type {
public:
    Task get_return_object()
    {
        return Task(m_shared);
    }

    std::suspend_never initial_suspend() noexcept
    {
        return {};
    }

    // The frame goes first, so that what the coroutine held is released when others
    // hear of its end.
    auto final_suspend() noexcept
    {
        struct Finish {
            bool await_ready() noexcept
            {
                return false;
            }
            void await_suspend(std::coroutine_handle<promise_type> handle) noexcept
            {
                auto shared = std::move(handle.promise().m_shared);
                handle.destroy();
                Shared::arrive(shared);
            }
            void await_resume() noexcept
            {
            }
        };
        return Finish{};
    }

    void return_value(T value)
    {
        m_shared->value.emplace(std::move(value));
    }

    void unhandled_exception() noexcept
    {
        m_shared->error = std::current_exception();
    }

private:
    std::shared_ptr<Shared> m_shared = std::make_shared<Shared>();
};
/** @endcond */

} // namespace be
