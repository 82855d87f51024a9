// SPDX-License-Identifier: BSD-3-Clause
//
// Carries out what other processes ask for with relayed requests (relay.h): the target's side.
//
// Thread rules: any thread. serve() without any lock of a queue pair.
#pragma once

#include "relay_errand.h"

#include <map>
#include <mutex>
#include <utility>

namespace softrdma {

class peer;
class process;

class relay_server {
public:
    explicit relay_server(process &owner) : m_owner(owner)
    {
    }

    // Goes on with the requests of those who called.
    void serve();

    // That queue pair takes nothing more: what was begun for it is not ended, and the receives taken for it are
    // posted again.
    void abandon(uint32_t qp);

    // The same for what a dead process asked for.
    void forget(uint32_t slot, uint64_t generation);

private:
    // By slot of the requester and index of the request there.
    using errand_map = std::map<std::pair<uint32_t, uint32_t>, errand>;

    void serve_slot(uint32_t slot);
    void serve_request(peer &from, uint32_t index);
    void tell(uint32_t slot, uint32_t index, const errand &over);

    process &m_owner;
    std::mutex m_mutex;
    errand_map m_errands;
};

} // namespace softrdma
