// SPDX-License-Identifier: BSD-3-Clause
//
// Events on their way to the application. What travels through a pipe is the identity of an object, not
// its address: an event of an object that is gone by the time it is read is dropped. An object counts
// what the application was given, so that its destruction can wait for the acknowledgements.
//
// Thread rules: any thread.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace softrdma {

// Embedded in every object that has events.
struct event_target {
    uint64_t id            = 0;
    void *object           = nullptr; // the verbs object
    uint32_t comp_fetched  = 0; // completion events given to the application
    uint32_t async_fetched = 0; // asynchronous ones
};

// What a context's async_fd carries.
struct async_record {
    uint64_t id; // 0: the port
    uint32_t type;
    uint32_t port;
};

class event_registry {
public:
    void add(event_target &target, void *object);

    // No event of the target is delivered from here on.
    void remove(event_target &target);

    // Counts one event and returns the object, or null when it is gone.
    void *fetch_completion(uint64_t id);
    void *fetch_async(uint64_t id);

private:
    std::mutex m_mutex;
    uint64_t m_last = 0;
    std::unordered_map<uint64_t, event_target *> m_targets;
};

// Waits until the application acknowledged `expected` events.
void wait_acknowledged(pthread_mutex_t &mutex, pthread_cond_t &cond,
                       const uint32_t &acknowledged, uint32_t expected);

void acknowledge(pthread_mutex_t &mutex, pthread_cond_t &cond, uint32_t &acknowledged,
                 uint32_t count);

} // namespace softrdma
