// SPDX-License-Identifier: BSD-3-Clause
#include "events.h"

namespace softrdma {

void event_registry::add(event_target &target, void *object)
{
    std::lock_guard lock(m_mutex);
    target.id     = ++m_last;
    target.object = object;
    m_targets.emplace(target.id, &target);
}

void event_registry::remove(event_target &target)
{
    std::lock_guard lock(m_mutex);
    m_targets.erase(target.id);
}

void *event_registry::fetch_completion(uint64_t id)
{
    std::lock_guard lock(m_mutex);
    auto found = m_targets.find(id);
    if (found == m_targets.end()) {
        return nullptr;
    }
    ++found->second->comp_fetched;
    return found->second->object;
}

void *event_registry::fetch_async(uint64_t id)
{
    std::lock_guard lock(m_mutex);
    auto found = m_targets.find(id);
    if (found == m_targets.end()) {
        return nullptr;
    }
    ++found->second->async_fetched;
    return found->second->object;
}

void wait_acknowledged(pthread_mutex_t &mutex, pthread_cond_t &cond,
                       const uint32_t &acknowledged, uint32_t expected)
{
    pthread_mutex_lock(&mutex);
    while (acknowledged != expected) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

void acknowledge(pthread_mutex_t &mutex, pthread_cond_t &cond, uint32_t &acknowledged,
                 uint32_t count)
{
    pthread_mutex_lock(&mutex);
    acknowledged += count;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
}

} // namespace softrdma
