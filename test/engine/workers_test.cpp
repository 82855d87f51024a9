// SPDX-License-Identifier: BSD-3-Clause
//
// Threads as workers, each with an interface of its own on a fabric that they share: order and content under load,
// sleepers among pollers, who stops, comes and leaves meanwhile.
//
// BE_TEST_WORKER_MESSAGES: messages of each flow, default 3000.

#define BOOST_TEST_MODULE workers
#include "waiting.hpp"

#include <atomic>
#include <random>
#include <thread>

using namespace test;

namespace {

unsigned messages()
{
    const char *wanted = std::getenv("BE_TEST_WORKER_MESSAGES");
    return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) :
                               3000;
}

be_fabric_config_t config_of(const Device &device, unsigned process)
{
    be_fabric_config_t config = device.config();
    config.mux                = BE_MUX_PROCESS;
    config.connect_timeout    = 100 + process; // tells "processes" apart, else nothing
    return config;
}

// A worker: sends `total` numbered messages to each of its targets and takes those of its sources, polling or
// sleeping whenever it can.
struct Worker {
    Worker(Device &device, unsigned process, bool sleeper) :
        node(device, config_of(device, process)), sleeps(sleeper)
    {
    }

    void run(unsigned total, unsigned sources, std::atomic<unsigned> &unfinished,
             std::atomic<bool> &lost)
    {
        std::vector<unsigned> sent(node.peers.size());
        const size_t expected = size_t{total} * sources;
        bool told             = false;
        while (!lost && unfinished != 0) {
            bool moved = be_fabric_progress(node.fabric) != 0;
            bool done  = node.received.size() == expected;
            for (size_t i = 0; i < sent.size(); ++i) {
                if (sent[i] < total) {
                    auto data            = pattern(sent[i] % 200, sent[i]);
                    const ssize_t result = be_am_bcopy(node.peers[i], name, pack_vector,
                                                       &data);
                    if (result < 0 && result != BE_ERR_NO_RESOURCE) {
                        lost = true;
                    }
                    sent[i] += result >= 0;
                    moved = moved || result >= 0;
                    done  = false;
                }
            }
            if (done && !told) {
                told = true;
                --unfinished;
            }
            // Who has all goes on, for what others need of him: those that sleep as well, for a while.
            if (sleeps && !moved && !await_event(node, done ? 10 : lost_after) && !done) {
                lost = true;
            }
        }
    }

    Node node;
    const bool sleeps;
    uint8_t name = 0; // sent as message id
};

void check_content(const Worker &worker, unsigned total)
{
    std::map<uint8_t, unsigned> next;
    for (const Received &message : worker.node.received) {
        const unsigned number = next[message.id]++;
        BOOST_REQUIRE(message.data == pattern(number % 200, number));
    }
    for (const auto &[name, count] : next) {
        BOOST_CHECK_EQUAL(count, total);
    }
}

// All workers of one process to all of the other and back.
void exchange(unsigned workers, const std::function<bool(unsigned)> &sleeps)
{
    const unsigned total = messages();
    Device device;
    std::vector<std::unique_ptr<Worker>> all;
    for (unsigned i = 0; i < 2 * workers; ++i) {
        all.push_back(std::make_unique<Worker>(device, i / workers, sleeps(i)));
        all.back()->name = static_cast<uint8_t>(i);
    }
    for (unsigned i = 0; i < 2 * workers; ++i) {
        for (unsigned j = 0; j < 2 * workers; ++j) {
            if (i / workers != j / workers) {
                all[i]->node.connect(all[j]->node);
            }
        }
    }
    std::atomic<unsigned> unfinished{2 * workers};
    std::atomic<bool> lost{false};
    std::vector<std::thread> threads;
    for (const auto &worker : all) {
        threads.emplace_back([&] { worker->run(total, workers, unfinished, lost); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_CHECK(!lost);
    for (const auto &worker : all) {
        BOOST_CHECK_EQUAL(worker->node.received.size(), size_t{total} * workers);
        check_content(*worker, total);
    }
    BOOST_CHECK_EQUAL(all[0]->node.metric("queue_pairs"), 2u);
    BOOST_CHECK_EQUAL(all[0]->node.metric("rnr"), 0u);
    BOOST_CHECK_EQUAL(all[0]->node.metric("peers_failed"), 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(pollers)
{
    exchange(4, [](unsigned) { return false; });
}

BOOST_AUTO_TEST_CASE(sleepers)
{
    exchange(3, [](unsigned) { return true; });
}

BOOST_AUTO_TEST_CASE(sleepers_among_pollers)
{
    exchange(3, [](unsigned i) { return i % 2 != 0; });
}

BOOST_AUTO_TEST_CASE(a_sleeper_is_woken_though_nobody_else_makes_progress)
{
    Device device;
    Node server(device, config_of(device, 1)), idle(device, config_of(device, 1));
    Node client(device, config_of(device, 0)), armed(device, config_of(device, 1));
    be_peer_t *peer = client.connect(server);
    BOOST_REQUIRE_EQUAL(send_bcopy({&client, &server}, peer, 1, pattern(9, 1)), BE_OK);
    BOOST_REQUIRE(wait({&client, &server}, [&] { return server.received.size() == 1; }));
    for (unsigned i = 2; i < 300; ++i) {
        // Both are ready to sleep, and only one of them is there to be woken.
        while (be_fabric_arm(armed.fabric) == BE_ERR_BUSY) {
            be_fabric_progress(armed.fabric);
        }
        while (be_fabric_arm(server.fabric) == BE_ERR_BUSY) {
            be_fabric_progress(server.fabric);
        }
        BOOST_REQUIRE_EQUAL(send_bcopy({&client}, peer, 1, pattern(9, i)), BE_OK);
        pollfd descriptor{be_fabric_event_fd(server.fabric), POLLIN, 0};
        BOOST_REQUIRE_EQUAL(::poll(&descriptor, 1, lost_after), 1);
        BOOST_REQUIRE_NE(be_fabric_progress(server.fabric), 0u);
        BOOST_REQUIRE(wait({&server}, [&] { return server.received.size() == i; }));
    }
}

BOOST_AUTO_TEST_CASE(sleepers_use_no_processor_time_beside_an_idle_process)
{
    Device device;
    std::vector<std::unique_ptr<Node>> nodes;
    for (unsigned i = 0; i < 4; ++i) {
        nodes.push_back(std::make_unique<Node>(device, config_of(device, 0)));
    }
    Node other(device, config_of(device, 1));
    be_peer_t *peer = nodes[0]->connect(other);
    BOOST_REQUIRE_EQUAL(send_bcopy({nodes[0].get(), &other}, peer, 1, pattern(9, 1)),
                        BE_OK);
    BOOST_REQUIRE(
            wait({nodes[0].get(), &other}, [&] { return other.received.size() == 1; }));
    for (const auto &node : nodes) {
        while (await_event(*node, 100)) {
            be_fabric_progress(node->fabric);
        }
    }
    const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    BOOST_CHECK(!await_event(*nodes[1], 500));
    BOOST_CHECK_LT(cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before, 0.05);
}

BOOST_AUTO_TEST_CASE(workers_come_and_go_in_any_order)
{
    Device device;
    Node server(device, config_of(device, 1));
    constexpr unsigned workers = 4, rounds = 12;
    std::atomic<unsigned> running{workers}, delivered{0};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> threads;
    uint8_t address[BE_FABRIC_ADDR_LEN];
    be_fabric_address(server.fabric, address);

    for (unsigned w = 0; w < workers; ++w) {
        threads.emplace_back([&, w] {
            std::mt19937 random(w);
            for (unsigned round = 0; round < rounds; ++round) {
                Node node(device, config_of(device, 0));
                be_peer_t *peer = nullptr;
                wrong = wrong || be_peer_get(node.fabric, address, &peer) != BE_OK;
                node.peers.push_back(peer);
                auto data        = pattern(50, w);
                unsigned pending = 1 + random() % 50;
                while (pending != 0 && !wrong) {
                    const ssize_t result = be_am_bcopy(peer, static_cast<uint8_t>(w),
                                                       pack_vector, &data);
                    if (result == BE_ERR_NO_RESOURCE) {
                        be_fabric_progress(node.fabric);
                    } else {
                        wrong = wrong || result < 0;
                        --pending;
                        ++delivered;
                    }
                }
                // What was sent must arrive: a goodbye does not wait for it.
                int flushed        = 0;
                be_status_t status = be_peer_flush(peer, &flushed);
                while (status == BE_INPROGRESS && node.completed.count(&flushed) == 0) {
                    be_fabric_progress(node.fabric);
                }
                wrong = wrong || !node.failed.empty();
            }
            --running;
        });
    }
    BOOST_CHECK(wait({&server}, [&] { return running == 0; }));
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_CHECK(!wrong);
    BOOST_CHECK(wait({&server}, [&] { return server.received.size() == delivered; }));
    BOOST_CHECK(wait({&server}, [&] { return server.metric("peers") == 0; }));
    BOOST_CHECK_EQUAL(server.metric("queue_pairs"), 0u);
}
