// SPDX-License-Identifier: BSD-3-Clause
#include "servant.hpp"

#include "wire.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace softtest {
namespace {

int take_completion_event(endpoint &self, double ms)
{
    ibv_cq *cq;
    void *cookie;
    if (!readable(self.channel->fd, ms) ||
        (verbs().get_cq_event(self.channel, &cq, &cookie) != 0)) {
        return 0;
    }
    verbs().ack_cq_events(cq, 1);
    return ((cq == self.cq) && (cookie == &self)) ? 1 : 0;
}

int take_async_event(endpoint &self, double ms)
{
    ibv_async_event event;
    if (!readable(self.context->async_fd, ms) ||
        (verbs().get_async_event(self.context, &event) != 0)) {
        return -1;
    }
    verbs().ack_async_event(&event);
    return event.event_type;
}

uint64_t count_torn(const endpoint &self, uint64_t offset, uint32_t changes)
{
    auto &word     = *reinterpret_cast<std::atomic<uint64_t> *>(self.buffer + offset);
    uint64_t last  = word.load();
    uint64_t torn  = 0;
    double give_up = now_ms() + patience_ms;
    for (uint32_t seen = 0; (seen < changes) && (now_ms() < give_up);) {
        for (int i = 0; i < 1000; ++i) {
            uint64_t value = word.load(std::memory_order_relaxed);
            torn += (value != 0) && (value != UINT64_MAX);
            seen += value != last;
            last = value;
        }
    }
    return torn;
}

uint64_t count_early(endpoint &self, uint32_t bytes, uint32_t rounds)
{
    auto at = [&](uint32_t i) -> std::atomic<unsigned char> & {
        return reinterpret_cast<std::atomic<unsigned char> *>(self.buffer)[i];
    };
    auto &done = *reinterpret_cast<std::atomic<uint64_t> *>(self.buffer + buffer_bytes -
                                                            8);
    uint64_t early = 0;
    double give_up = now_ms() + patience_ms;
    for (uint32_t round = 1; round <= rounds; ++round) {
        while ((at(bytes - 1).load(std::memory_order_acquire) != round) &&
               (now_ms() < give_up)) {
        }
        for (uint32_t i = 0; i < bytes; ++i) {
            early += at(i).load(std::memory_order_relaxed) != round;
        }
        done.store(round);
    }
    return early;
}

uint64_t sum_bytes(const endpoint &self, uint64_t offset, uint64_t length)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < length; ++i) {
        sum += static_cast<unsigned char>(self.buffer[offset + i]);
    }
    return sum;
}

uint64_t add(endpoint &self, const address &target, uint32_t count)
{
    uint64_t worked = 0;
    for (uint32_t i = 0; i < count; ++i) {
        bool posted = self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, target, 0, 1, 0) == 0;
        worked += posted && (self.wait_status() == IBV_WC_SUCCESS);
    }
    return worked;
}

// Many at a time, so that processes that start one after the other still write at the same time.
uint64_t
write_many(endpoint &self, const address &target, uint32_t length, uint32_t count)
{
    constexpr uint32_t at_a_time = 16;
    uint64_t worked              = 0;
    uint32_t posted              = 0;
    for (uint32_t done = 0; done < count; ++done) {
        for (; (posted < count) && (posted - done < at_a_time); ++posted) {
            self.rdma(IBV_WR_RDMA_WRITE, target, length);
        }
        worked += self.wait_status() == IBV_WC_SUCCESS;
    }
    return worked;
}

uint64_t send_many(endpoint &self, uint32_t length, uint32_t count)
{
    uint64_t worked = 0;
    for (uint32_t i = 0; i < count; ++i) {
        worked += (self.send(length) == 0) && (self.wait_status() == IBV_WC_SUCCESS);
    }
    return worked;
}

int create_objects(endpoint &self)
{
    if (verbs().alloc_pd(self.context) == nullptr) {
        return errno;
    }
    if (verbs().create_cq(self.context, 16, nullptr, nullptr, 0) == nullptr) {
        return errno;
    }
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = self.cq;
    attr.qp_type                = IBV_QPT_RC;
    return (verbs().create_qp(self.pd, &attr) == nullptr) ? errno : 0;
}

int listed_devices()
{
    int count         = -1;
    ibv_device **list = verbs().get_device_list(&count);
    verbs().free_device_list(list);
    return count;
}

// Takes the arguments of a command off the socket, in order.
class arguments {
public:
    explicit arguments(int socket) : m_socket(socket)
    {
    }

    template<class T>
    operator T() const
    {
        return get<T>(m_socket);
    }

private:
    int m_socket;
};

void obey(endpoint &self, int socket, char command)
{
    arguments next(socket);
    switch (command) {
    case 'c': {
        address other = next;
        put(socket, self.connect(other));
        break;
    }
    case 'r':
    case 'l': {
        uint32_t length = next;
        if (command == 'l') {
            uint32_t ms = next;
            usleep(ms * 1000); // not to wait for something: the delay is what is tested
            self.post_receive(length);
            break;
        }
        uint64_t offset = next, id = next;
        put(socket, self.post_receive(length, offset, id));
        break;
    }
    case 's': {
        uint32_t length = next;
        unsigned flags  = next;
        uint64_t offset = next;
        put(socket, self.send(length, flags, offset));
        break;
    }
    case 'w': {
        double ms = next;
        ibv_wc none{};
        none.status = no_completion;
        put(socket, self.wait(ms).value_or(none));
        break;
    }
    case 'v': {
        uint64_t offset = next;
        put(socket, self.word(offset));
        break;
    }
    case 'V': {
        uint64_t offset = next, value = next;
        self.word(offset) = value;
        put(socket, int{0});
        break;
    }
    case '+': {
        uint64_t offset = next, length = next;
        put(socket, sum_bytes(self, offset, length));
        break;
    }
    case 'a': {
        bool solicited_only = next;
        put(socket, ibv_req_notify_cq(self.cq, solicited_only));
        break;
    }
    case 'e': {
        double ms = next;
        put(socket, take_completion_event(self, ms));
        break;
    }
    case 'y': {
        double ms = next;
        put(socket, take_async_event(self, ms));
        break;
    }
    case 'm': {
        ibv_srq_attr attr{};
        attr.srq_limit = next;
        put(socket, verbs().modify_srq(self.srq, &attr, IBV_SRQ_LIMIT));
        break;
    }
    case 'd':
        verbs().dereg_mr(self.mr);
        self.mr = nullptr;
        put(socket, int{0});
        break;
    case 'u':
        put(socket, mprotect(self.buffer, buffer_bytes, PROT_NONE));
        break;
    case 'q':
        put(socket, static_cast<int>(self.state()));
        break;
    case 'O':
        put(socket, create_objects(self));
        break;
    case '#':
        put(socket, listed_devices());
        break;
    case 'x': {
        uint64_t offset  = next;
        uint32_t changes = next;
        put(socket, int{0});
        put(socket, count_torn(self, offset, changes));
        break;
    }
    case 'o': {
        uint32_t bytes  = next;
        uint32_t rounds = next;
        put(socket, int{0});
        put(socket, count_early(self, bytes, rounds));
        break;
    }
    case 'n': {
        address target = next;
        uint32_t count = next;
        put(socket, add(self, target, count));
        break;
    }
    case 'b': {
        uint32_t length = next;
        uint32_t count  = next;
        put(socket, send_many(self, length, count));
        break;
    }
    case 'i': {
        address target  = next;
        uint32_t length = next;
        uint32_t count  = next;
        put(socket, write_many(self, target, length, count));
        break;
    }
    default:
        fatal("unknown command");
    }
}

} // namespace

int serve(int socket)
{
    endpoint self(get<options>(socket));
    put(socket, self.own_address());
    char command;
    while (try_get(socket, command)) {
        obey(self, socket, command);
    }
    return 0;
}

} // namespace softtest
