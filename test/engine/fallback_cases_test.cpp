// SPDX-License-Identifier: BSD-3-Clause
//
// Single things that may happen while data goes over the side channel, or that make it.

#define BOOST_TEST_MODULE fallback_cases
#include "falling.hpp"
#include "waiting.hpp"

#include <atomic>
#include <thread>

using namespace test;

namespace {

struct TwoDevices {
    TwoDevices()
    {
        ::setenv("SOFTRDMA_DEVICES", "2", 1);
    }
};

be_status_t get(End &end, uint64_t remote, uint32_t rkey, size_t length, void *name)
{
    const be_sge_t part{end.memory.at(send_area + put_area), length, end.memory.mem.lkey};
    return be_get_zcopy(end.peer, &part, 1, remote, rkey, name);
}

be_status_t put(End &end, uint64_t remote, uint32_t rkey, size_t length, void *name)
{
    const be_sge_t part{end.memory.at(send_area), length, end.memory.mem.lkey};
    return be_put_zcopy(end.peer, &part, 1, remote, rkey, name);
}

} // namespace

BOOST_GLOBAL_FIXTURE(TwoDevices);

// One end has a device, the other has not.
BOOST_AUTO_TEST_CASE(one_port_that_is_down_is_enough)
{
    Device one(0), two(1);
    for (const char *which : {"softrdma0", "softrdma1"}) {
        Falling pair(one, falling(one), two, falling(two), 7);
        pair.act(100);
        BOOST_REQUIRE(device_fault(std::string("link-down device=") + which));
        BOOST_REQUIRE(
                pair.act_until([&] { return over_tcp(pair.a) && over_tcp(pair.b); }));
        pair.act(200);
        pair.settle();
        pair.rise();
        pair.act(100);
        pair.settle();
    }
}

BOOST_AUTO_TEST_CASE(it_can_be_seen)
{
    Device device;
    Fallen pair(device);
    const auto path = [&] {
        char text[1024];
        be_peer_path(pair.a.peer, text, sizeof(text));
        return std::string(text);
    };
    BOOST_CHECK_MESSAGE(path().find("state tcp\npath tcp\n") == 0, path());
    BOOST_CHECK_EQUAL(pair.a.node.metric("peers_on_tcp"), 1);
    BOOST_CHECK_EQUAL(pair.a.node.metric("queue_pairs"), 0);
    BOOST_CHECK_EQUAL(pair.a.node.metric("fallbacks"), 1);
    pair.rise();
    pair.settle();
    BOOST_CHECK_MESSAGE(path().find("state ready\npath rdma\n") == 0, path());
    BOOST_CHECK_EQUAL(pair.a.node.metric("peers_on_tcp"), 0);
    BOOST_CHECK_EQUAL(pair.a.node.metric("fallback_returns"), 1);
}

// The port does not notice: one path after the other fails.
BOOST_AUTO_TEST_CASE(paths_of_no_use_are_given_up_and_tried_again)
{
    const auto order = [](const std::string &words) {
        const std::string command = std::string(std::getenv("BE_MODULEDIR")) +
                                    "/../src/softrdma/softrdma set " + words +
                                    " pid=" + std::to_string(::getpid()) + " >/dev/null";
        return std::system(command.c_str()) == 0;
    };
    Device one(0), two(1);
    Falling pair(one, falling(one), two, falling(two), 8);
    pair.act(100);
    BOOST_REQUIRE(order("loss=1.0"));
    BOOST_REQUIRE(pair.act_until([&] { return over_tcp(pair.a) && over_tcp(pair.b); }));
    pair.act(100);
    const uint64_t epoch = pair.a.engine_peer().recovery.epoch();
    BOOST_CHECK_GE(epoch, 2);
    // It is tried again, in vain, and nothing is lost by that.
    BOOST_CHECK(pair.act_until([&] {
        return pair.a.engine_peer().recovery.epoch() >= epoch + 4 && over_tcp(pair.a) &&
               over_tcp(pair.b);
    }));
    BOOST_REQUIRE(order("off"));
    BOOST_CHECK(pair.act_until([&] { return over_rdma(pair.a) && over_rdma(pair.b); }));
    pair.act(100);
    pair.settle();
}

// Both must say so: else the peer waits for RDMA.
BOOST_AUTO_TEST_CASE(without_agreement_there_is_no_tcp)
{
    Device one(0), two(1);
    be_fabric_config_t other = falling(two);
    other.fallback           = BE_FALLBACK_NONE;
    Falling pair(one, falling(one), two, other, 9);
    pair.act(100);
    set_link(false);
    BOOST_REQUIRE(pair.act_until([&] {
        return pair.a.engine_peer().state == be::engine::Peer::State::recovering;
    }));
    const uint64_t lost = pair.of_both("paths_lost");
    BOOST_CHECK_GE(lost, 1);
    pair.act(200);
    set_link(true);
    BOOST_CHECK(pair.act_until([&] { return over_rdma(pair.a) && over_rdma(pair.b); }));
    pair.settle();
    BOOST_CHECK_EQUAL(pair.of_both("fallbacks"), 0);
}

// As by RDMA: who uses a key that he must not is disconnected, and each operation of his gets an error.
BOOST_AUTO_TEST_CASE(a_wrong_key_range_or_right_is_refused)
{
    Device device;
    std::vector<uint8_t> buffer(4096, 5);
    be_mem_t readable{}, writable{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, buffer.data(), buffer.size(),
                                        BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_GET, 0,
                                        &readable),
                        BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, buffer.data(), buffer.size(),
                                        BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT, 0,
                                        &writable),
                        BE_OK);
    const auto at = reinterpret_cast<uint64_t>(buffer.data());
    const struct {
        const char *what;
        bool is_put;
        uint64_t remote;
        uint32_t rkey;
        const char *says;
    } wrong[] = {{"put, unknown key", true, at, readable.rkey ^ 0x5a5a5a5a, "unknown"},
                 {"get, unknown key", false, at, readable.rkey ^ 0x5a5a5a5a, "unknown"},
                 {"put, before it", true, at - 1, writable.rkey, "beyond"},
                 {"put, behind it", true, at + 4000, writable.rkey, "beyond"},
                 {"get, behind it", false, at + 4000, readable.rkey, "beyond"},
                 {"get, at the end of all", false, ~uint64_t{0} - 10, readable.rkey,
                  "beyond"},
                 {"put, only to be read", true, at, readable.rkey, "right"},
                 {"get, only to be written", false, at, writable.rkey, "right"}};
    for (const auto &[what, is_put, remote, rkey, says] : wrong) {
        BOOST_TEST_CONTEXT(what)
        {
            Fallen pair(device);
            void *good = reinterpret_cast<void *>(1), *bad = reinterpret_cast<void *>(2);
            BOOST_REQUIRE_EQUAL(get(pair.a, at, readable.rkey, 100, good), BE_INPROGRESS);
            BOOST_REQUIRE(pair.progress_until(
                    [&] { return pair.a.node.completed.count(good); }));
            BOOST_CHECK_EQUAL(pair.a.node.completed[good], BE_OK);
            BOOST_REQUIRE_EQUAL(is_put ? put(pair.a, remote, rkey, 100, bad) :
                                         get(pair.a, remote, rkey, 100, bad),
                                BE_INPROGRESS);
            BOOST_CHECK(pair.progress_until([&] {
                return !pair.a.node.failed.empty() && !pair.b.node.failed.empty();
            }));
            BOOST_CHECK_EQUAL(pair.a.node.completed[bad], BE_ERR_PEER_FAILED);
            const std::string why = be_peer_failure(pair.a.peer);
            BOOST_CHECK_MESSAGE(why.find(says) != std::string::npos, why);
            BOOST_CHECK(std::all_of(buffer.begin(), buffer.end(),
                                    [](uint8_t byte) { return byte == 5; }));
            set_link(true);
        }
    }
    be_mem_deregister(device.md, &readable);
    be_mem_deregister(device.md, &writable);
}

// Who makes no progress gets no more than fits into a few buffers, and the sender is told to wait.
BOOST_AUTO_TEST_CASE(a_receiver_that_does_not_look_stalls_the_sender)
{
    Device device;
    Fallen pair(device);
    const std::vector<uint8_t> data = pattern(8000, 1);
    uint64_t sent                   = 0;
    unsigned refused                = 0;
    while (refused < 100000) {
        const ssize_t result = be_am_bcopy(pair.a.peer, 2, pack_vector,
                                           const_cast<std::vector<uint8_t> *>(&data));
        if (result >= 0) {
            ++sent;
            refused = 0;
        } else {
            BOOST_REQUIRE_EQUAL(result, BE_ERR_NO_RESOURCE);
            ++refused;
            (void)be_fabric_progress(pair.a.node.fabric);
        }
        BOOST_REQUIRE_LT(sent, 2000);
    }
    BOOST_CHECK_GT(sent, 10);
    BOOST_CHECK(pair.progress_until([&] { return pair.b.node.received.size() == sent; }));
    BOOST_CHECK(std::all_of(pair.b.node.received.begin(), pair.b.node.received.end(),
                            [&](const Received &got) { return got.data == data; }));
    pair.b.node.received.clear();
}

// Messages of several frames, and pieces of many.
BOOST_AUTO_TEST_CASE(what_is_larger_than_a_frame_goes_in_pieces)
{
    Device device;
    be_fabric_config_t config = falling(device);
    config.segment_size       = 200000;
    config.rx_capacity        = 16;
    config.rx_max             = 64;
    Falling pair(device, config, 3);
    pair.fall();
    pair.settle();
    for (const size_t length : {65519u, 65520u, 65521u, 131072u, 199999u, 200000u}) {
        const std::vector<uint8_t> data = pattern(length, 3);
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a.node, &pair.b.node}, pair.a.peer, 4,
                                       data),
                            BE_OK);
        BOOST_REQUIRE(
                pair.progress_until([&] { return pair.b.node.received.size() == 1; }));
        BOOST_CHECK(pair.b.node.received[0].data == data);
        pair.b.node.received.clear();
    }
    void *name   = reinterpret_cast<void *>(1);
    uint8_t *own = pair.a.memory.at(send_area);
    for (size_t i = 0; i < put_area; ++i) {
        own[i] = static_cast<uint8_t>(i * 7 + i / 253);
    }
    const auto remote = reinterpret_cast<uint64_t>(pair.b.memory.at(0));
    BOOST_REQUIRE_EQUAL(put(pair.a, remote, pair.b.memory.mem.rkey, put_area, name),
                        BE_INPROGRESS);
    BOOST_REQUIRE(pair.progress_until([&] { return pair.a.node.completed.count(name); }));
    BOOST_CHECK(std::equal(own, own + put_area, pair.b.memory.at(0)));
}

// Bulk that began by RDMA ends over TCP, and the other way; the sender does not stand still for it.
BOOST_AUTO_TEST_CASE(bulk_crosses_from_one_to_the_other)
{
    constexpr size_t size = 64u
                            << 20; // so much that it has not all gone when the link does
    Device device;
    Falling pair(device, falling(device), 13);
    const auto at = [](const be_mem_t &mem) {
        return static_cast<uint8_t *>(mem.address);
    };
    be_mem_t here{}, there{};
    BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, size, &here), BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, size, &there), BE_OK);
    char names[4];
    unsigned round = 0;
    for (const bool is_put : {true, false}) {
        for (const bool falls : {true, false}) {
            if (!falls) {
                pair.fall();
            }
            be_mem_t &from = is_put ? here : there, &to = is_put ? there : here;
            for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
                const uint64_t word = (i + round) * 0x9e3779b97f4a7c15u;
                std::memcpy(at(from) + i, &word, sizeof(word));
            }
            std::memset(at(to), 0, size);
            const be_sge_t part{here.address, size, here.lkey};
            const auto remote = reinterpret_cast<uint64_t>(there.address);
            void *completion  = &names[round++];
            const auto begun  = pair.a.engine_peer().bulk.retired();
            BOOST_REQUIRE_EQUAL(is_put ? be_put_zcopy(pair.a.peer, &part, 1, remote,
                                                      there.rkey, completion) :
                                         be_get_zcopy(pair.a.peer, &part, 1, remote,
                                                      there.rkey, completion),
                                BE_INPROGRESS);
            const auto done = [&] {
                return pair.a.node.completed.count(completion) != 0;
            };
            BOOST_REQUIRE(pair.progress_until([&] {
                return done() || pair.a.engine_peer().bulk.retired() >= begun + 4;
            }));
            BOOST_CHECK(!done());
            set_link(!falls);
            BOOST_REQUIRE(pair.progress_until([&] {
                return done() && (falls ? over_tcp(pair.a) : over_rdma(pair.a));
            }));
            BOOST_CHECK_EQUAL(pair.a.node.completed[completion], BE_OK);
            BOOST_CHECK(std::memcmp(at(here), at(there), size) == 0);
            if (falls) {
                pair.rise();
            }
        }
    }
    be_mem_free(device.md, &here);
    be_mem_free(device.md, &there);
}

// A link that is never up for long enough is not taken back, and costs nothing but the first switch.
BOOST_AUTO_TEST_CASE(a_link_that_flaps_is_not_taken_back)
{
    Device one(0), two(1);
    be_fabric_config_t config = falling(two);
    config.fallback_time      = 3600;
    Falling pair(one, falling(one), two, config, 14);
    pair.act(100);
    BOOST_REQUIRE(device_fault("link-down device=softrdma1"));
    BOOST_REQUIRE(pair.act_until([&] { return over_tcp(pair.a) && over_tcp(pair.b); }));
    const uint64_t epoch = pair.a.engine_peer().recovery.epoch();
    for (unsigned i = 0; i < 5; ++i) {
        BOOST_REQUIRE(device_fault("link-up device=softrdma1"));
        pair.act(50);
        BOOST_REQUIRE(device_fault("link-down device=softrdma1"));
        pair.act(50);
    }
    pair.settle();
    BOOST_CHECK_EQUAL(pair.a.engine_peer().recovery.epoch(), epoch);
    BOOST_CHECK(over_tcp(pair.a) && over_tcp(pair.b));
}

// A sleeper hears of what comes over the side channel, and uses no processor time when nothing does.
BOOST_AUTO_TEST_CASE(who_sleeps_is_woken)
{
    Device device;
    Fallen pair(device);
    while (await_event(pair.b.node, 300)) {
        be_fabric_progress(pair.b.node.fabric);
    }
    const double before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    BOOST_CHECK(!await_event(pair.b.node, 300));
    BOOST_CHECK_LT(cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before, 0.05);

    uint64_t header = 3;
    BOOST_REQUIRE_EQUAL(be_am_short(pair.a.peer, 1, header, nullptr, 0), BE_OK);
    while (pair.b.node.received.empty()) {
        BOOST_REQUIRE(await_event(pair.b.node));
        be_fabric_progress(pair.b.node.fabric);
    }
    pair.b.node.received.clear();
    // And the sender, of its completion.
    while (pair.a.engine_peer().messages.retired() !=
           pair.a.engine_peer().messages.posted()) {
        BOOST_REQUIRE(await_event(pair.a.node));
        be_fabric_progress(pair.a.node.fabric);
    }
}

// However full the channel is, and whoever waits for whom.
BOOST_AUTO_TEST_CASE(two_that_sleep_miss_no_wake_up)
{
    constexpr unsigned total = 5000;
    Device device;
    Fallen pair(device);
    std::atomic<bool> lost{false};
    std::atomic<size_t> arrived{0};
    std::thread receiver([&] {
        while (arrived < total && !lost) {
            if (be_fabric_progress(pair.b.node.fabric) == 0 &&
                !await_event(pair.b.node)) {
                lost = true;
            }
            arrived = pair.b.node.received.size();
        }
    });
    std::vector<uint8_t> data = pattern(4000, 1);
    const auto remote         = reinterpret_cast<uint64_t>(pair.b.memory.at(0));
    uintptr_t wanted          = 0;
    for (unsigned sent = 0; sent < total && !lost;) {
        const bool room = wanted - pair.a.node.completed.size() < 4;
        if (room && pair.random() % 8 == 0) {
            auto *name  = reinterpret_cast<void *>(wanted + 1);
            auto access = pair.random() % 2 == 0 ? put : get;
            wanted += access(pair.a, remote, pair.b.memory.mem.rkey,
                             1 + pair.random() % put_area, name) == BE_INPROGRESS;
        }
        data.resize(1 + pair.random() % 8000);
        if (be_am_bcopy(pair.a.peer, 1, pack_vector, &data) >= 0) {
            ++sent;
        } else if (be_fabric_progress(pair.a.node.fabric) == 0 &&
                   !await_event(pair.a.node)) {
            lost = true;
        }
    }
    while ((arrived < total || pair.a.node.completed.size() < wanted) && !lost) {
        if (arrived == total) { // nobody answers any more but us
            (void)be_fabric_progress(pair.b.node.fabric);
            (void)be_fabric_progress(pair.a.node.fabric);
        } else if (be_fabric_progress(pair.a.node.fabric) == 0) {
            (void)await_event(pair.a.node, 10); // the last message calls for no answer
        }
    }
    receiver.join();
    BOOST_CHECK(!lost);
    BOOST_CHECK_EQUAL(arrived, total);
    pair.b.node.received.clear();
}

// The peer's process ends, as the survivor sees it: the channel breaks, and nobody knows the fabric there.
BOOST_AUTO_TEST_CASE(a_peer_that_dies_is_reported_and_every_operation_comes_back)
{
    Device device;
    Fallen pair(device);
    void *name = reinterpret_cast<void *>(1);
    BOOST_REQUIRE_EQUAL(put(pair.a, reinterpret_cast<uint64_t>(pair.b.memory.at(0)),
                            pair.b.memory.mem.rkey, put_area, name),
                        BE_INPROGRESS);
    be::control::Node::acquire()->close(pair.b.engine_peer().connection, false);
    pair.b.node.close(); // its goodbye has no connection left to go by
    BOOST_CHECK(pair.progress_until([&] { return !pair.a.node.failed.empty(); }));
    BOOST_CHECK_EQUAL(pair.a.node.completed.count(name), 1);
    BOOST_CHECK_EQUAL(pair.a.node.metric("peers_on_tcp"), 0);
    BOOST_CHECK_EQUAL(pair.a.node.metric("sends_outstanding"), 0);
}

BOOST_AUTO_TEST_CASE(a_goodbye_over_tcp_is_no_failure)
{
    Device device;
    Fallen pair(device);
    pair.b.node.close();
    BOOST_CHECK(pair.progress_until(
            [&] { return pair.a.node.metric("peers_departed") == 1; }));
    BOOST_CHECK(pair.a.node.failed.empty());
}

// Interfaces that share a fabric get theirs by mail.
BOOST_AUTO_TEST_CASE(shared_fabrics_fall_back_too)
{
    Device one(0), two(1);
    be_fabric_config_t config = falling(one);
    config.mux                = BE_MUX_PROCESS;
    Falling pair(one, config, two, config, 11);
    for (unsigned round = 0; round < 3; ++round) {
        pair.act(200);
        pair.fall();
        pair.act(300);
        pair.settle();
        pair.act(100);
        pair.rise();
        pair.act(100);
        pair.settle();
    }
}

// For good: it stays so. The last case, since the process has lost its device.
BOOST_AUTO_TEST_CASE(a_device_that_is_removed_is_gone_for_good)
{
    Device one(0), two(1);
    Falling pair(one, falling(one), two, falling(two), 12);
    pair.act(200);
    BOOST_REQUIRE(device_fault("device-removed device=softrdma1"));
    BOOST_REQUIRE_MESSAGE(pair.act_until(
                                  [&] { return over_tcp(pair.a) && over_tcp(pair.b); }),
                          pair.a.state() << "; " << pair.b.state());
    pair.act(300);
    pair.settle();
    // That its port comes back changes nothing, nor does anybody wait for it.
    BOOST_REQUIRE(device_fault("link-down device=softrdma1"));
    BOOST_REQUIRE(device_fault("link-up device=softrdma1"));
    pair.act(300);
    pair.settle();
    unsigned wakes = 0;
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
         std::chrono::steady_clock::now() < end;) {
        wakes += await_event(pair.b.node, 200);
        be_fabric_progress(pair.b.node.fabric);
        be_fabric_progress(pair.a.node.fabric);
    }
    BOOST_CHECK_LT(wakes, 100u);
    BOOST_CHECK(over_tcp(pair.a) && over_tcp(pair.b));
}
