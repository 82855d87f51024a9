// SPDX-License-Identifier: BSD-3-Clause

#include "control/turn.hpp"

namespace be::control {

void Turn::take()
{
    m_turn.lock();
    m_holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void Turn::let_go() noexcept
{
    m_holder.store({}, std::memory_order_relaxed);
    m_turn.unlock();
}

void Turn::wait()
{
    std::unique_lock lock(m_mutex);
    while (is_lent()) {
        const unsigned uses = m_uses.load(std::memory_order_relaxed);
        if (!m_over.wait_for(lock, patience, [this] { return !is_lent(); }) &&
            uses == m_uses.load(std::memory_order_relaxed)) {
            m_is_lent.store(false, std::memory_order_relaxed);
        }
    }
}

bool Turn::ask() noexcept
{
    const std::lock_guard lock(m_mutex);
    return !m_is_lent.exchange(true, std::memory_order_relaxed);
}

bool Turn::borrow() noexcept
{
    if (is_mine() || !m_turn.try_lock()) {
        return false;
    }
    m_holder.store(std::this_thread::get_id(), std::memory_order_relaxed);
    m_uses.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void Turn::give_back() noexcept
{
    if (!is_lent()) {
        return;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_is_lent.store(false, std::memory_order_relaxed);
    }
    m_over.notify_one();
}

} // namespace be::control
