// SPDX-License-Identifier: BSD-3-Clause
//
// The domain's fabric as this process uses it: the model under its lock and by the clock.
//
// Thread rules: any thread.
#pragma once

#include "fabric_model.h"

namespace softrdma {

class process;

class fabric {
public:
    explicit fabric(process &owner) : m_owner(owner)
    {
    }

    // What the last process in this slot left behind goes.
    void start();

    uint32_t open_flow(uint32_t from);
    void close_flow(uint32_t flow);
    uint32_t send(const message_request &request);
    message_fate look(uint32_t message);
    void release(uint32_t message);

    uint64_t return_ns(uint32_t from, uint32_t to);

private:
    template<class F>
    auto with_model(F call);

    process &m_owner;
};

} // namespace softrdma
