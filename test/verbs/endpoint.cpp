// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include "site.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

namespace softtest {
namespace {

// A setup or clean-up step that must work in every test, also in a process without a test framework.
void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "endpoint: %s failed: %s\n", what, strerror(errno));
        abort();
    }
}

} // namespace

ibv_ah_attr way_to(const address &other)
{
    ibv_ah_attr attr{};
    attr.port_num = 1;
    attr.dlid     = other.lid;
    if (where_we_are().ethernet) {
        attr.is_global      = 1;
        attr.grh.dgid       = other.gid;
        attr.grh.sgid_index = where_we_are().gid_index;
        attr.grh.hop_limit  = 64;
    }
    return attr;
}

double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

bool readable(int fd, double ms)
{
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, static_cast<int>(ms)) == 1;
}

endpoint::endpoint(const options &wanted) : setup(wanted)
{
    const verbs_api &v = verbs();
    const site &here   = where_we_are();
    context = open_device(setup.servant ? here.servants_device : here.own_device);
    must(context != nullptr, "open_device");
    if (!here.soft) {
        setup.timeout = static_cast<uint8_t>(setup.timeout +
                                             4); // real ones take time to answer
    }
    // A test that waits for an event must not wait for ever.
    fcntl(context->async_fd, F_SETFL, O_NONBLOCK);

    pd      = v.alloc_pd(context);
    channel = v.create_comp_channel(context);
    must((pd != nullptr) && (channel != nullptr), "alloc_pd, create_comp_channel");
    fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    cq = v.create_cq(context, setup.cqe, this, channel, 0);
    must(cq != nullptr, "create_cq");

    void *memory = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    buffer = static_cast<char *>(memory);
    mr     = v.reg_mr(pd, buffer, buffer_bytes, setup.memory_access);
    must(mr != nullptr, "reg_mr");

    ibv_qp_init_attr attr{};
    if (setup.shared_receives) {
        ibv_srq_init_attr srq_attr{};
        srq_attr.attr.max_wr  = setup.recv_depth;
        srq_attr.attr.max_sge = 2;
        srq                   = v.create_srq(pd, &srq_attr);
        must(srq != nullptr, "create_srq");
        attr.srq = srq;
    }
    attr.send_cq = attr.recv_cq = cq;
    attr.cap                    = {setup.send_depth, setup.recv_depth, 2, 2, 64};
    attr.qp_type                = setup.type;
    attr.sq_sig_all             = setup.signal_all;
    qp                          = v.create_qp(pd, &attr);
    must(qp != nullptr, "create_qp");
}

endpoint::~endpoint()
{
    const verbs_api &v = verbs();
    must(v.destroy_qp(qp) == 0, "destroy_qp");
    must((srq == nullptr) || (v.destroy_srq(srq) == 0), "destroy_srq");
    must(v.destroy_cq(cq) == 0, "destroy_cq");
    must(v.destroy_comp_channel(channel) == 0, "destroy_comp_channel");
    must((mr == nullptr) || (v.dereg_mr(mr) == 0), "dereg_mr");
    must(v.dealloc_pd(pd) == 0, "dealloc_pd");
    must(v.close_device(context) == 0, "close_device");
    munmap(buffer, buffer_bytes);
}

address endpoint::own_address() const
{
    ibv_port_attr port;
    must(verbs_get_ctx_op(context, query_port)
                         ->query_port(context, 1, &port, sizeof(port)) == 0,
         "query_port");
    address result{qp->qp_num,
                   (mr != nullptr) ? mr->rkey : 0,
                   reinterpret_cast<uint64_t>(buffer),
                   port.lid,
                   {}};
    must(verbs().query_gid(context, 1, where_we_are().gid_index, &result.gid) == 0,
         "query_gid");
    return result;
}

int endpoint::to_init()
{
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    int mask      = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (setup.type == IBV_QPT_UD) {
        attr.qkey = 0x1234;
        mask |= IBV_QP_QKEY;
    } else {
        attr.qp_access_flags = static_cast<unsigned>(setup.qp_access);
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    return verbs().modify_qp(qp, &attr, mask);
}

int endpoint::to_rtr(const address &other)
{
    ibv_qp_attr attr{};
    attr.qp_state           = IBV_QPS_RTR;
    attr.path_mtu           = IBV_MTU_1024;
    attr.dest_qp_num        = other.number;
    attr.rq_psn             = setup.rq_psn;
    attr.max_dest_rd_atomic = setup.rd_atomic;
    attr.min_rnr_timer      = setup.min_rnr_timer;
    attr.ah_attr            = way_to(other);
    int mask                = IBV_QP_STATE;
    if (setup.type != IBV_QPT_UD) {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (setup.type == IBV_QPT_RC) {
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return verbs().modify_qp(qp, &attr, mask);
}

int endpoint::to_rts()
{
    ibv_qp_attr attr{};
    attr.qp_state      = IBV_QPS_RTS;
    attr.sq_psn        = setup.sq_psn;
    attr.timeout       = setup.timeout;
    attr.retry_cnt     = setup.retry_cnt;
    attr.rnr_retry     = setup.rnr_retry;
    attr.max_rd_atomic = setup.rd_atomic;
    int mask           = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (setup.type == IBV_QPT_RC) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return verbs().modify_qp(qp, &attr, mask);
}

int endpoint::connect(const address &other)
{
    int failure = to_init();
    failure     = (failure != 0) ? failure : to_rtr(other);
    return (failure != 0) ? failure : to_rts();
}

int endpoint::post_receive(uint32_t length, uint64_t offset, uint64_t id)
{
    ibv_sge sge{reinterpret_cast<uint64_t>(buffer + offset), length,
                (mr != nullptr) ? mr->lkey : 0};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id   = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return (srq != nullptr) ? ibv_post_srq_recv(srq, &wr, &bad) :
                              ibv_post_recv(qp, &wr, &bad);
}

int endpoint::post(ibv_send_wr wr, uint32_t length, uint64_t offset)
{
    ibv_sge sge{reinterpret_cast<uint64_t>(buffer + offset), length, mr->lkey};
    ibv_send_wr *bad = nullptr;
    wr.sg_list       = &sge;
    wr.num_sge       = 1;
    return ibv_post_send(qp, &wr, &bad);
}

int endpoint::send(uint32_t length, unsigned flags, uint64_t offset, uint64_t id)
{
    ibv_send_wr wr{};
    wr.wr_id      = id;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = flags;
    return post(wr, length, offset);
}

int endpoint::rdma(ibv_wr_opcode opcode, const address &other, uint32_t length,
                   uint64_t offset, unsigned flags, uint64_t id)
{
    ibv_send_wr wr{};
    wr.wr_id               = id;
    wr.opcode              = opcode;
    wr.send_flags          = flags;
    wr.imm_data            = 0x01020304;
    wr.wr.rdma.remote_addr = other.memory + offset;
    wr.wr.rdma.rkey        = other.rkey;
    return post(wr, length, offset);
}

int endpoint::atomic(ibv_wr_opcode opcode, const address &other, uint64_t offset,
                     uint64_t compare_add, uint64_t swap)
{
    ibv_send_wr wr{};
    wr.opcode                = opcode;
    wr.send_flags            = IBV_SEND_SIGNALED;
    wr.wr.atomic.remote_addr = other.memory + offset;
    wr.wr.atomic.rkey        = other.rkey;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap        = swap;
    return post(wr, sizeof(uint64_t), 0);
}

std::optional<ibv_wc> endpoint::wait(double ms)
{
    double give_up = now_ms() + ms;
    ibv_wc wc{};
    do {
        int count = ibv_poll_cq(cq, 1, &wc);
        if (count == 1) {
            return wc;
        }
        if (count < 0) {
            return std::nullopt;
        }
    } while (now_ms() < give_up);
    return std::nullopt;
}

int endpoint::wait_status(double ms)
{
    std::optional<ibv_wc> wc = wait(ms);
    return wc.has_value() ? static_cast<int>(wc->status) : -1;
}

bool endpoint::silent(double ms)
{
    return !wait(ms).has_value();
}

ibv_qp_state endpoint::state()
{
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    must(verbs().query_qp(qp, &attr, IBV_QP_STATE, &init) == 0, "query_qp");
    return attr.qp_state;
}

} // namespace softtest
