// SPDX-License-Identifier: BSD-3-Clause
//
// Completion channels: a pipe that carries the identities of completion queues. (An eventfd would be
// cheaper, but cannot be opened by another process.)
#pragma once

#include "context.h"

namespace softrdma {

struct completion_channel : ibv_comp_channel {
    int write_fd = -1;
    uint64_t id  = 0; // tells a reused descriptor number

    static completion_channel *from(ibv_comp_channel *channel)
    {
        return static_cast<completion_channel *>(channel);
    }
};

ibv_comp_channel *create_channel(device_context &context);
int destroy_channel(completion_channel &channel);

// Takes the next event; -1 with errno as read(2) sets it.
int next_cq_event(completion_channel &channel, ibv_cq **cq, void **cq_context);

} // namespace softrdma
