// SPDX-License-Identifier: BSD-3-Clause
//
// The real software device, and two queue pairs on it that are connected to each other.
//
// The device is taken from UCX_BE_SOFT_LIBRARY, else from the build tree (BE_MODULEDIR).
// Without either the tests that need it are skipped, which is a failure when CI=true.
#pragma once

#include "verbs/queue_pair.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace be::verbs::test {

// Precondition of a suite.
boost::test_tools::assertion_result soft_device_is_there(boost::unit_test::test_unit_id);

inline constexpr unsigned all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct SoftFixture {
    static constexpr size_t memory_size = 64 * 1024; // bytes of each side
    static constexpr unsigned receives  = 16; // posted to the shared receive queue

    // One end: both are in this process.
    struct Side {
        Context context;
        ProtectionDomain pd;
        CompletionChannel channel;
        CompletionQueue cq;
        SharedReceiveQueue srq;
        QueuePair qp;
        std::vector<uint8_t> memory;
        MemoryRegion region;

        explicit Side(const Table &table);

        ibv_sge sge(size_t offset, size_t length) const;
        void post_receive(uint64_t id, size_t offset, size_t length);
        void send(ibv_wr_opcode opcode, uint64_t id, ibv_sge sge, uint64_t remote = 0,
                  uint32_t rkey = 0);
        // The next completion; the test fails when none comes within seconds.
        ibv_wc wait();
    };

    const Table &table;
    Side a;
    Side b;

    SoftFixture();
    ~SoftFixture();

    static const Table &load();
    // Both to ready to send.
    void connect();
};

} // namespace be::verbs::test
