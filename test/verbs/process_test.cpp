// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that come, fork, and go at the wrong moment.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <atomic>
#include <cerrno>
#include <dirent.h>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace softtest;

namespace {

// The exit status of what runs in a forked child.
template<class F>
int in_child(F body)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(body());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int open_files()
{
    int count   = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

// Nothing is mapped from here on where something was before a fork that did not inherit it.
bool occupy_gaps()
{
    constexpr size_t piece = 1 << 20, pieces = 4096; // more than a device maps
    for (size_t i = 0; i < pieces; ++i) {
        if (mmap(nullptr, piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
            MAP_FAILED) {
            return false;
        }
    }
    return true;
}

// One more queue pair of an endpoint, connected to a servant; it is the endpoint's while this exists.
class additional_pair {
public:
    additional_pair(endpoint &self, servant &other) : m_self(self), m_first(self.qp)
    {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = self.cq;
        attr.srq                    = self.srq;
        attr.cap                    = {16, 0, 1, 0, 0};
        attr.qp_type                = IBV_QPT_RC;
        self.qp                     = verbs().create_qp(self.pd, &attr);
        BOOST_REQUIRE(self.qp != nullptr);
        BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
        BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    }

    ~additional_pair()
    {
        BOOST_CHECK_EQUAL(verbs().destroy_qp(m_self.qp), 0);
        m_self.qp = m_first;
    }

private:
    endpoint &m_self;
    ibv_qp *m_first;
};

} // namespace

BOOST_AUTO_TEST_SUITE(processes)

BOOST_AUTO_TEST_CASE(forked_child_cannot_use_what_it_inherited)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    int status = in_child([&] {
        ibv_wc wc;
        ibv_async_event event;
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_ERR;
        bool refused  = (ibv_poll_cq(pair.self.cq, 1, &wc) < 0) &&
                       (pair.self.send(8) == EIO) && (pair.self.post_receive(8) == EIO) &&
                       (ibv_req_notify_cq(pair.self.cq, 0) == EIO) &&
                       (verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE) == EIO) &&
                       (verbs().destroy_qp(pair.self.qp) == EIO) &&
                       (verbs().reg_mr(pair.self.pd, pair.self.buffer, 64, 0) ==
                        nullptr) &&
                       (verbs().alloc_pd(pair.self.context) == nullptr) &&
                       (verbs().get_async_event(pair.self.context, &event) == -1) &&
                       (verbs().close_device(pair.self.context) == -1);
        return refused ? 0 : 1;
    });
    BOOST_TEST(status == 0);
    // The parent's device is as it was.
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(forked_child_gets_a_device_of_its_own)
{
    connected pair;
    // What this thread remembers of its device is of no use to the child.
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    int status = in_child([] {
        if (!occupy_gaps()) {
            return 3;
        }
        options wanted;
        endpoint first(wanted), second(wanted);
        if ((first.connect(second.own_address()) != 0) ||
            (second.connect(first.own_address()) != 0) ||
            (second.post_receive(64) != 0) || (first.send(8) != 0)) {
            return 1;
        }
        return ((first.wait_status() == IBV_WC_SUCCESS) &&
                (second.wait_status() == IBV_WC_SUCCESS)) ?
                       0 :
                       2;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(many_processes_on_few_cores_all_progress)
{
    std::vector<std::unique_ptr<endpoint>> mine;
    std::vector<std::unique_ptr<servant>> others;
    for (int i = 0; i < 12; ++i) {
        mine.push_back(std::make_unique<endpoint>());
        others.push_back(std::make_unique<servant>());
        BOOST_REQUIRE_EQUAL(mine[i]->connect(others[i]->where()), 0);
        BOOST_REQUIRE_EQUAL(others[i]->connect(mine[i]->own_address()), 0);
    }
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 12; ++i) {
            BOOST_REQUIRE_EQUAL(others[i]->post_receive(64), 0);
            BOOST_REQUIRE_EQUAL(mine[i]->send(8), 0);
        }
        for (int i = 0; i < 12; ++i) {
            BOOST_REQUIRE_EQUAL(mine[i]->wait_status(), int{IBV_WC_SUCCESS});
            BOOST_REQUIRE_EQUAL(int{others[i]->wait().status}, int{IBV_WC_SUCCESS});
        }
    }
}

BOOST_AUTO_TEST_CASE(killed_processes_leave_nothing_behind)
{
    // In and out of slots, killed while they work; then the survivor is whole and holds no descriptor.
    endpoint keeper;
    servant steady;
    BOOST_REQUIRE_EQUAL(keeper.connect(steady.where()), 0);
    BOOST_REQUIRE_EQUAL(steady.connect(keeper.own_address()), 0);
    int before = open_files();
    for (int i = 0; i < 30; ++i) {
        connected pair;
        pair.self.post_receive(64);
        pair.other.start_adding(pair.self.own_address(), 1000000);
        std::atomic<uint64_t> &word = *reinterpret_cast<std::atomic<uint64_t> *>(
                pair.self.buffer);
        double give_up = now_ms() + patience_ms;
        while ((word.load() < static_cast<uint64_t>(i)) && (now_ms() < give_up)) {
        }
        pair.other.kill();
        // The lock of this process's atomics may have died with it.
        pair.self.word(8) = 0;
        endpoint local;
        BOOST_REQUIRE_EQUAL(local.connect(local.own_address()), 0);
        BOOST_REQUIRE_EQUAL(local.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, local.own_address(),
                                         8, 1, 0),
                            0);
        BOOST_REQUIRE_EQUAL(local.wait_status(), int{IBV_WC_SUCCESS});
    }
    BOOST_REQUIRE_EQUAL(steady.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(keeper.send(8), 0);
    BOOST_TEST(keeper.wait_status() == IBV_WC_SUCCESS);
    double give_up = now_ms() + patience_ms;
    int kept       = where_we_are().direct ? 2 : 3;
    while ((open_files() > before + kept) && (now_ms() < give_up)) {
        ibv_wc wc;
        ibv_poll_cq(keeper.cq, 1, &wc);
    }
    // Of the last peer, mapping and descriptors may still be kept for its slot's next user.
    BOOST_TEST(open_files() <= before + kept);
}

BOOST_AUTO_TEST_CASE(killed_senders_lose_no_receive)
{
    // Senders into one shared receive queue are killed at any moment of their sending. Then every receive
    // must still be there to be used.
    constexpr uint32_t depth = 64;
    options wanted;
    wanted.shared_receives = true;
    wanted.recv_depth      = depth;
    wanted.cqe             = 4096;
    endpoint self(wanted);
    uint64_t arrived = 0;
    auto replenish   = [&] {
        ibv_wc wc;
        while (ibv_poll_cq(self.cq, 1, &wc) == 1) {
            BOOST_REQUIRE_EQUAL(int{wc.status}, int{IBV_WC_SUCCESS});
            ++arrived;
        }
        while (self.post_receive(16384) == 0) {
        }
    };
    for (int i = 0; i < 60; ++i) {
        servant sender;
        additional_pair extra(self, sender);
        replenish();
        uint64_t before = arrived;
        sender.start_sending((i % 2) ? 64 : 12000, 1000000);
        double give_up = now_ms() + patience_ms;
        while ((arrived < before + 100 + 37 * static_cast<uint64_t>(i)) &&
               (now_ms() < give_up)) {
            replenish();
        }
        BOOST_TEST(arrived > before);
        sender.kill();
    }

    replenish();
    servant sender;
    additional_pair extra(self, sender);
    sender.start_sending(64, depth);
    BOOST_TEST(sender.sending_result() == depth);
    for (uint32_t i = 0; i < depth; ++i) {
        BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
    }
}

BOOST_AUTO_TEST_CASE(process_that_may_not_be_reached_gets_no_device)
{
    int status = in_child([] {
        prctl(PR_SET_DUMPABLE, 0);
        int count = -1;
        verbs().get_device_list(&count);
        return count;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(threads_share_a_device)
{
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&failures] {
            for (int round = 0; round < 20; ++round) {
                endpoint a, b;
                bool ok = (a.connect(b.own_address()) == 0) &&
                          (b.connect(a.own_address()) == 0);
                for (int i = 0; ok && (i < 50); ++i) {
                    ok = (b.post_receive(16384) == 0) &&
                         (a.send((i % 2) ? 8 : 12000) == 0) &&
                         (a.wait_status() == IBV_WC_SUCCESS) &&
                         (b.wait_status() == IBV_WC_SUCCESS);
                }
                failures += !ok;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_TEST(failures.load() == 0);
}

BOOST_AUTO_TEST_CASE(threads_share_queues)
{
    // Two send on one queue pair, more often than there are receives; two poll each completion queue, one of
    // them gives the receives back; one looks, asks for events, and makes and destroys objects beside them.
    constexpr uint32_t each = 1500;
    options wanted;
    wanted.cqe           = 4096;
    wanted.min_rnr_timer = 1; // 10 us
    endpoint a(wanted), b(wanted);
    BOOST_REQUIRE_EQUAL(a.connect(b.own_address()), 0);
    BOOST_REQUIRE_EQUAL(b.connect(a.own_address()), 0);
    // A receive's memory goes by its number: what arrives in one has nothing to do with another.
    constexpr uint32_t room = 16384;
    for (uint64_t i = 0; i < 8; ++i) {
        BOOST_REQUIRE_EQUAL(b.post_receive(room, i * room, i), 0);
    }
    std::atomic<uint32_t> sent{0}, received{0}, failures{0};
    double give_up = now_ms() + 3 * patience_ms;
    auto over      = [&] {
        return ((sent == 2 * each) && (received == 2 * each)) || (failures != 0) ||
               (now_ms() > give_up);
    };
    auto send = [&](uint32_t bytes) {
        for (uint32_t i = 0; (i < each) && !over();) {
            int failure = a.send(bytes);
            i += failure == 0;
            failures += (failure != 0) && (failure != ENOMEM);
        }
    };
    auto poll = [&](endpoint &at, std::atomic<uint32_t> &count) {
        while (!over()) {
            ibv_wc wc;
            if (ibv_poll_cq(at.cq, 1, &wc) != 1) {
                continue;
            }
            ++count;
            failures += wc.status != IBV_WC_SUCCESS;
            failures += (&at == &b) &&
                        (b.post_receive(room, wc.wr_id * room, wc.wr_id) != 0);
        }
    };
    auto disturb = [&] {
        while (!over()) {
            failures += ibv_req_notify_cq(b.cq, 0) != 0;
            failures += b.state() != IBV_QPS_RTS;
            ibv_cq *cq;
            void *its_context;
            if (verbs().get_cq_event(b.channel, &cq, &its_context) == 0) {
                verbs().ack_cq_events(cq, 1);
            }
            endpoint other;
            failures += other.connect(other.own_address()) != 0;
        }
    };
    std::vector<std::thread> threads;
    threads.emplace_back(send, 8);
    threads.emplace_back(send, 12000);
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back(poll, std::ref(a), std::ref(sent));
        threads.emplace_back(poll, std::ref(b), std::ref(received));
    }
    threads.emplace_back(disturb);
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_TEST(failures.load() == 0u);
    BOOST_TEST(sent.load() == 2 * each);
    BOOST_TEST(received.load() == 2 * each);
}

BOOST_AUTO_TEST_SUITE_END()
