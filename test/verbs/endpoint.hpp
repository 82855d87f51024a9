// SPDX-License-Identifier: BSD-3-Clause
//
// One side of a test: a device with a domain, a queue for completions, a megabyte of registered memory and a
// queue pair. Everything is destroyed with it, and the destruction is checked.
#pragma once

#include "verbs_api.hpp"

#include <optional>
#include <string>
#include <vector>

namespace softtest {

inline constexpr size_t buffer_bytes = 1 << 20;
inline constexpr int all_access      = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct options {
    ibv_qp_type type      = IBV_QPT_RC;
    uint32_t send_depth   = 64;
    uint32_t recv_depth   = 64;
    int cqe               = 512;
    bool shared_receives  = false;
    bool signal_all       = false;
    int memory_access     = all_access;
    int qp_access         = all_access;
    uint8_t timeout       = 12; // 16.8 ms an attempt
    uint8_t retry_cnt     = 2;
    uint8_t rnr_retry     = 7;
    uint8_t min_rnr_timer = 12; // 640 us
    uint32_t rq_psn       = 77;
    uint32_t sq_psn       = 77;
    uint8_t rd_atomic     = 4;
    bool servant          = false; // it is on the other device, if there are two
};

// What the other side needs to know.
struct address {
    uint32_t number;
    uint32_t rkey;
    uint64_t memory;
    uint16_t lid;
    ibv_gid gid;
};

// The way to a port, as this site's link layer wants it.
ibv_ah_attr way_to(const address &other);

// Waiting gives up after this long, so that a bug is a failure and not a hang.
inline constexpr double patience_ms = 10000;

double now_ms();

// Whether something can be read from the descriptor in time.
bool readable(int fd, double ms = patience_ms);

class endpoint {
public:
    explicit endpoint(const options &wanted = {});
    ~endpoint();
    endpoint(const endpoint &)            = delete;
    endpoint &operator=(const endpoint &) = delete;

    address own_address() const;

    // To RTS. 0 or the errno of the first step that failed.
    int connect(const address &other);

    int to_init();
    int to_rtr(const address &other);
    int to_rts();

    // Posts; 0 or the errno.
    int post_receive(uint32_t length, uint64_t offset = 0, uint64_t id = 0);
    int send(uint32_t length, unsigned flags = IBV_SEND_SIGNALED, uint64_t offset = 0,
             uint64_t id = 0);
    int rdma(ibv_wr_opcode opcode, const address &other, uint32_t length,
             uint64_t offset = 0, unsigned flags = IBV_SEND_SIGNALED, uint64_t id = 0);
    int atomic(ibv_wr_opcode opcode, const address &other, uint64_t offset,
               uint64_t compare_add, uint64_t swap);
    int post(ibv_send_wr wr, uint32_t length, uint64_t offset);

    // The next completion, none in time: empty.
    std::optional<ibv_wc> wait(double ms = patience_ms);

    // The status of the next completion, -1 when none came.
    int wait_status(double ms = patience_ms);

    // Nothing arrives for that long.
    bool silent(double ms);

    uint64_t &word(uint64_t offset)
    {
        return *reinterpret_cast<uint64_t *>(buffer + offset);
    }

    ibv_qp_state state();

    options setup;
    ibv_context *context      = nullptr;
    ibv_pd *pd                = nullptr;
    ibv_comp_channel *channel = nullptr;
    ibv_cq *cq                = nullptr;
    ibv_srq *srq              = nullptr;
    ibv_qp *qp                = nullptr;
    ibv_mr *mr                = nullptr;
    char *buffer              = nullptr;
};

} // namespace softtest
