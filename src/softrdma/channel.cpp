// SPDX-License-Identifier: BSD-3-Clause
#include "channel.h"

#include "cq.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace softrdma {

ibv_comp_channel *create_channel(device_context &context)
{
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        return nullptr;
    }
    fcntl(pipe[1], F_SETFL, O_NONBLOCK);
    auto *channel     = new completion_channel{};
    channel->context  = &context.verbs.context;
    channel->fd       = pipe[0];
    channel->write_fd = pipe[1];
    channel->id = context.owner->next_channel.fetch_add(1, std::memory_order_relaxed);
    return channel;
}

int destroy_channel(completion_channel &channel)
{
    device_context &context = *device_context::from(channel.context);
    pthread_mutex_lock(&context.verbs.context.mutex);
    bool used = channel.refcnt != 0;
    pthread_mutex_unlock(&context.verbs.context.mutex);
    if (used) {
        return EBUSY;
    }
    close(channel.fd);
    close(channel.write_fd);
    delete &channel;
    return 0;
}

int next_cq_event(completion_channel &channel, ibv_cq **cq, void **cq_context)
{
    process &owner = *device_context::from(channel.context)->owner;
    for (;;) {
        uint64_t id;
        if (read(channel.fd, &id, sizeof(id)) != sizeof(id)) {
            return -1;
        }
        void *object = owner.events.fetch_completion(id);
        if (owner.faults.disturbs()) [[unlikely]] {
            owner.faults.wait_out_stall();
        }
        if (object != nullptr) {
            auto *found = completion_queue::from(static_cast<ibv_cq *>(object));
            found->event_read();
            *cq         = found->verbs();
            *cq_context = found->cq_context;
            return 0;
        }
    }
}

} // namespace softrdma
