// SPDX-License-Identifier: BSD-3-Clause
#include "worker.hpp"

#include "../wire.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>

namespace crash {
namespace {

using softtest::fatal;
using softtest::put;
using softtest::verbs;

constexpr uint32_t longest      = 9216; // of a message: more than fits a bounce buffer
constexpr uint32_t window       = 4; // requests outstanding on a connection
constexpr uint32_t queue_depth  = 16;
constexpr uint32_t shared_depth = 256;

// The memory: what peers write to and read, the word that they add to, and then blocks: one for each request that
// may be outstanding, and one for each receive.
constexpr uint64_t landing = 0;
constexpr uint64_t counter = 64 * 1024;
constexpr uint64_t blocks  = counter + 4096;

constexpr uint32_t number_mask = 0x3fff; // of a queue pair within its process

uint32_t count_files()
{
    uint32_t count = 0;
    DIR *folder    = opendir("/proc/self/fd");
    while ((folder != nullptr) && (readdir(folder) != nullptr)) {
        ++count;
    }
    closedir(folder);
    return count;
}

uint32_t count_mappings()
{
    std::ifstream maps("/proc/self/maps");
    std::string line;
    uint32_t count = 0;
    while (std::getline(maps, line)) {
        count += line.find("memfd:softrdma") != std::string::npos;
    }
    return count;
}

void must(bool condition, const char *what)
{
    if (!condition) {
        fatal(what);
    }
}

} // namespace

worker::worker(int socket, uint32_t self, uint32_t workers, uint32_t pairs,
               uint32_t seed) :
    m_socket(socket),
    m_self(self),
    m_workers(workers),
    m_pairs(pairs),
    m_shared((self % 2) != 0 || (pairs > 8)),
    m_random(seed),
    m_connections(workers * pairs),
    m_places(workers),
    m_by_number(number_mask + 1)
{
    ibv_device **list = verbs().get_device_list(nullptr);
    must((list != nullptr) && (list[0] != nullptr), "get_device_list");
    m_context = verbs().open_device(list[0]);
    must(m_context != nullptr, "open_device");
    verbs().free_device_list(list);
    create_queues();

    ibv_port_attr port;
    must(verbs_get_ctx_op(m_context, query_port)
                         ->query_port(m_context, 1, &port, sizeof(port)) == 0,
         "query_port");
    put(socket, place{port.lid, m_mr->rkey, reinterpret_cast<uint64_t>(m_memory)});
    for (const connection &each : m_connections) {
        put(socket, each.qp->qp_num);
    }
}

void worker::create_queues()
{
    auto count     = static_cast<uint32_t>(m_connections.size());
    uint32_t slots = count * window + (m_shared ? shared_depth : count * queue_depth);
    size_t bytes   = blocks + uint64_t(slots) * longest;
    void *memory   = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    m_memory = static_cast<char *>(memory);
    m_pd     = verbs().alloc_pd(m_context);
    must(m_pd != nullptr, "alloc_pd");
    m_mr = verbs().reg_mr(m_pd, memory, bytes,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    must(m_mr != nullptr, "reg_mr");
    auto entries = static_cast<int>(count * (queue_depth + window) + shared_depth);
    m_cq         = verbs().create_cq(m_context, entries, nullptr, nullptr, 0);
    must(m_cq != nullptr, "create_cq");
    if (m_shared) {
        ibv_srq_init_attr attr{};
        attr.attr.max_wr  = shared_depth;
        attr.attr.max_sge = 1;
        m_srq             = verbs().create_srq(m_pd, &attr);
        must(m_srq != nullptr, "create_srq");
    }
    for (uint32_t i = 0; i < m_connections.size(); ++i) {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = m_cq;
        attr.srq                    = m_srq;
        attr.cap                    = {window, queue_depth, 1, 1, 0};
        attr.qp_type                = IBV_QPT_RC;
        attr.sq_sig_all             = 1;
        connection &each            = m_connections[i];
        each.qp                     = verbs().create_qp(m_pd, &attr);
        each.peer                   = i / m_pairs;
        must(each.qp != nullptr, "create_qp");
        m_by_number[each.qp->qp_num & number_mask] = i;
    }
    for (uint32_t i = 0; m_shared && (i < shared_depth); ++i) {
        post_receive(m_connections[0], block(count * window + i));
    }
}

void worker::fault(const connection &where, const char *what, uint32_t detail)
{
    ++m_answer.faults;
    fprintf(stderr, "worker %u, connection to %u: %s %u\n", m_self, where.peer, what,
            detail);
    if (m_answer.faults > 20) {
        exit(1);
    }
}

void worker::connect(const command &what)
{
    m_places[what.peer] = what.where;
    while (poll()) {
        // What a reset takes out of the completion queue would be lost.
    }
    for (uint32_t i = 0; i < m_pairs; ++i) {
        connection &each = m_connections[what.peer * m_pairs + i];
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        must(verbs().modify_qp(each.qp, &attr, IBV_QP_STATE) == 0, "reset");
        each.outstanding = each.posted = each.sent = each.received = 0;
        each.failed                                                = false;

        attr.qp_state        = IBV_QPS_INIT;
        attr.port_num        = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                               IBV_ACCESS_REMOTE_ATOMIC;
        must(verbs().modify_qp(each.qp, &attr,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                       IBV_QP_ACCESS_FLAGS) == 0,
             "INIT");
        auto index = static_cast<uint32_t>(&each - m_connections.data());
        auto count = static_cast<uint32_t>(m_connections.size());
        for (uint32_t r = 0; !m_shared && (r < queue_depth); ++r) {
            post_receive(each, block(count * window + index * queue_depth + r));
        }
        attr.qp_state           = IBV_QPS_RTR;
        attr.path_mtu           = IBV_MTU_4096;
        attr.dest_qp_num        = softtest::get<uint32_t>(m_socket);
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer      = 1; // 10 us
        attr.ah_attr.port_num   = 1;
        attr.ah_attr.dlid       = what.where.lid;
        must(verbs().modify_qp(each.qp, &attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                       IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER) == 0,
             "RTR");
        attr.qp_state      = IBV_QPS_RTS;
        attr.timeout       = 8; // 1 ms
        attr.retry_cnt     = 1;
        attr.rnr_retry     = 7;
        attr.max_rd_atomic = 4;
        must(verbs().modify_qp(each.qp, &attr,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                       IBV_QP_MAX_QP_RD_ATOMIC) == 0,
             "RTS");
    }
}

// Until every connection to the dead peer has failed, and said so once.
void worker::bury(uint32_t peer)
{
    connection *first = &m_connections[peer * m_pairs];
    connection *last  = first + m_pairs;
    auto buried       = [](const connection &each) {
        return each.failed && (each.outstanding == 0);
    };
    while (!std::all_of(first, last, buried)) {
        for (connection *each = first; each != last; ++each) {
            each->running = false;
            if (!each->failed && (each->outstanding == 0)) {
                post_something(*each);
            }
        }
        poll();
    }
}

void worker::report()
{
    m_answer.descriptors    = count_files();
    m_answer.mappings       = count_mappings();
    m_answer.least_received = UINT32_MAX;
    for (const connection &each : m_connections) {
        if (each.peer != m_self) {
            m_answer.least_received = std::min(m_answer.least_received, each.total);
        }
    }
}

void worker::post_receive(connection &from, uint64_t slot)
{
    ibv_sge sge{slot, longest, m_mr->lkey};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id    = slot;
    wr.sg_list  = &sge;
    wr.num_sge  = 1;
    int failure = m_shared ? ibv_post_srq_recv(m_srq, &wr, &bad) :
                             ibv_post_recv(from.qp, &wr, &bad);
    must(failure == 0, "post_recv");
}

uint64_t worker::block(uint32_t index) const
{
    return reinterpret_cast<uint64_t>(m_memory) + blocks + uint64_t(index) * longest;
}

void worker::post_something(connection &to)
{
    constexpr uint32_t lengths[] = {16, 64, 1024, longest};
    auto index                   = static_cast<uint32_t>(&to - m_connections.data());
    const place &there           = m_places[to.peer];
    // Requests end in order, so that the block of the one before the last `window` is free.
    ibv_sge sge{block(index * window + to.posted++ % window), lengths[any(4)],
                m_mr->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id               = index;
    wr.sg_list             = &sge;
    wr.num_sge             = 1;
    wr.wr.rdma.remote_addr = there.memory + landing + 8 * any(1024);
    wr.wr.rdma.rkey        = there.rkey;
    switch (any(8)) {
    case 0:
        wr.opcode = IBV_WR_RDMA_WRITE;
        break;
    case 1:
        wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        break;
    case 2:
        wr.opcode = IBV_WR_RDMA_READ;
        break;
    case 3:
        wr.opcode                = IBV_WR_ATOMIC_FETCH_AND_ADD;
        sge.length               = 8;
        wr.wr.atomic.remote_addr = there.memory + counter;
        wr.wr.atomic.rkey        = there.rkey;
        wr.wr.atomic.compare_add = 1;
        break;
    default: {
        wr.opcode   = IBV_WR_SEND;
        auto *data  = reinterpret_cast<char *>(sge.addr);
        header head = {to.sent, sge.length, 0};
        memset(data + sizeof(head), static_cast<int>(m_random()), 8 * any(2));
        head.check = check_of(data + sizeof(head), sge.length - sizeof(head));
        memcpy(data, &head, sizeof(head));
        ++to.sent;
        break;
    }
    }
    must(ibv_post_send(to.qp, &wr, &bad) == 0, "post_send");
    ++to.outstanding;
}

bool worker::poll()
{
    ibv_wc wc[32];
    int count = ibv_poll_cq(m_cq, 32, wc);
    must(count >= 0, "poll_cq");
    for (int i = 0; i < count; ++i) {
        connection &each = m_connections[m_by_number[wc[i].qp_num & number_mask]];
        // The opcode of a failed completion is not defined: a receive's id is an address.
        if (wc[i].wr_id < m_connections.size()) {
            sent(each, wc[i]);
        } else {
            arrived(each, wc[i]);
        }
    }
    return count != 0;
}

void worker::sent(connection &to, const ibv_wc &wc)
{
    --to.outstanding;
    ++m_answer.completed;
    if (wc.status == IBV_WC_SUCCESS) {
        if (to.failed) {
            fault(to, "success after a failure, opcode", wc.opcode);
        }
        return;
    }
    to.running = false;
    if (wc.status == IBV_WC_RETRY_EXC_ERR) {
        if (to.failed) {
            fault(to, "retries exhausted a second time, opcode", wc.opcode);
        }
        to.failed = true;
    } else if ((wc.status != IBV_WC_WR_FLUSH_ERR) || !to.failed) {
        fault(to, "failed with status", wc.status);
    }
}

void worker::arrived(connection &from, const ibv_wc &wc)
{
    if (wc.status == IBV_WC_SUCCESS) {
        ++from.total;
        ++m_answer.received;
        if (wc.opcode == IBV_WC_RECV) {
            check_message(from, reinterpret_cast<const char *>(wc.wr_id), wc.byte_len);
        }
    } else if (wc.status != IBV_WC_WR_FLUSH_ERR) {
        fault(from, "receive failed with status", wc.status);
    }
    // A queue that flushes is filled again when it is connected again.
    if (m_shared || (wc.status == IBV_WC_SUCCESS)) {
        post_receive(from, wc.wr_id);
    }
}

void worker::check_message(connection &from, const char *data, uint32_t length)
{
    header head;
    memcpy(&head, data, sizeof(head));
    if ((head.length != length) ||
        (head.check != check_of(data + sizeof(head), length - sizeof(head)))) {
        fault(from, "broken message of length", length);
    }
    if (head.sequence != from.received) {
        fault(from, "message out of order, number", head.sequence);
    }
    from.received = head.sequence + 1;
}

void worker::run()
{
    for (;;) {
        // Who has nothing to do yet leaves the processor to those who get ready.
        command next;
        ssize_t length = recv(m_socket, &next, sizeof(next),
                              m_working ? MSG_DONTWAIT : 0);
        if (length == 0) {
            return;
        }
        if (length == sizeof(next)) {
            obey(next);
        }
        for (connection &each : m_connections) {
            while (each.running && (each.outstanding < window)) {
                post_something(each);
            }
        }
        poll();
    }
}

void worker::obey(const command &next)
{
    switch (next.what) {
    case verb::connect:
        connect(next);
        break;
    case verb::go:
        for (connection &each : m_connections) {
            each.running |= (each.peer == next.peer) ||
                            ((next.peer == everybody) && (each.peer != m_self));
        }
        m_working = true;
        break;
    case verb::bury:
        bury(next.peer);
        break;
    case verb::report:
        report();
        break;
    }
    put(m_socket, m_answer);
}

} // namespace crash
