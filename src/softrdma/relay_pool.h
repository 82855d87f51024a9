// SPDX-License-Identifier: BSD-3-Clause
//
// The relay_shared entries of this process, and the queue pairs that wait for an answer in one.
//
// Thread rules: any thread; resume() without any queue pair's lock.
#pragma once

#include "layout.h"

#include <memory>
#include <mutex>
#include <vector>

namespace softrdma {

class process;
class queue_pair;

class relay_pool {
public:
    static constexpr uint32_t none = UINT32_MAX;

    explicit relay_pool(process &owner) : m_owner(owner)
    {
    }

    // An entry with a window, `none` when all are in use. `waiting`, if there is one, is resumed when the
    // target did something.
    uint32_t take(std::shared_ptr<queue_pair> waiting);

    // Nobody waits any more. It is free when it was answered, or when the target has let go of it.
    void give_back(uint32_t index, bool answered);

    relay_shared &entry(uint32_t index) const;

    // Tells the target of a request that it got on. False when it is gone.
    bool call(const relay_shared &request) const;

    // Goes on with the requests that got on.
    void resume();

    // That process is dead: it has let go of everything.
    void forget(uint32_t slot, uint64_t generation);

private:
    void collect_locked();
    bool add_locked();

    process &m_owner;
    std::mutex m_mutex;
    std::vector<std::shared_ptr<queue_pair>> m_waiting; // by index
    std::vector<uint32_t> m_free; // last in, first out
    std::vector<uint32_t> m_left; // nobody waits for them, but the target may be at them
};

} // namespace softrdma
