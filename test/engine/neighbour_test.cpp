// SPDX-License-Identifier: BSD-3-Clause
//
// One that behaves badly, or is just slow, and its neighbours: a sender that does not hear of a hold, a receiver that
// keeps everything and stops, bulk beside small messages, a child of fork().
//
// BE_TEST_STOP_SECONDS: how long the slow receiver stops, default 0.3.

#define BOOST_TEST_MODULE neighbour
#include "process.hpp"
#include "waiting.hpp"

#include <algorithm>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace test;

namespace {

double stop_seconds()
{
    const char *wanted = std::getenv("BE_TEST_STOP_SECONDS");
    return wanted != nullptr ? std::atof(wanted) : 0.3;
}

// Processor time of one message there and back, the median of many; in seconds.
double round_trip(Node &here, Node &there, be_peer_t *to, be_peer_t *back)
{
    std::vector<double> times;
    for (unsigned i = 0; i < 501; ++i) {
        const size_t before[] = {here.received.size(), there.received.size()};
        const double start    = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        BOOST_REQUIRE_EQUAL(push({&here, &there},
                                 [&] { return be_am_short(to, 1, i, nullptr, 0); }),
                            BE_OK);
        while (there.received.size() == before[1]) {
            be_fabric_progress(there.fabric);
        }
        BOOST_REQUIRE_EQUAL(push({&here, &there},
                                 [&] { return be_am_short(back, 1, i, nullptr, 0); }),
                            BE_OK);
        while (here.received.size() == before[0]) {
            be_fabric_progress(here.fabric);
        }
        times.push_back(cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start);
    }
    std::nth_element(times.begin(), times.begin() + 250, times.end());
    return times[250];
}

struct Region {
    Region(Device &device, size_t size) : md(device.md), bytes(size)
    {
        BOOST_REQUIRE_EQUAL(be_mem_register(md, bytes.data(), size,
                                            BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT, 0,
                                            &mem),
                            BE_OK);
    }

    ~Region()
    {
        be_mem_deregister(md, &mem);
    }

    be_md_t *md;
    std::vector<uint8_t> bytes;
    be_mem_t mem{};
};

} // namespace

// The application keeps every payload and makes no progress for a while; then it goes on.
BOOST_AUTO_TEST_CASE(
        who_keeps_everything_and_stops_costs_what_was_configured_and_nobody_else)
{
    Device device;
    be_fabric_config_t config = device.config();
    config.rx_capacity        = 64;
    config.rx_max             = 256;
    Node sender(device, config), slow(device, config), other(device, config);
    be_peer_t *to_slow = sender.connect(slow), *to_other = sender.connect(other);
    be_peer_t *back = other.connect(sender);
    slow.keep       = true;
    BOOST_REQUIRE_EQUAL(send_bcopy({&sender, &slow, &other}, to_slow, 2, pattern(5, 0)),
                        BE_OK);
    const double idle = round_trip(sender, other, to_other, back);

    unsigned sent    = 1;
    const auto flood = [&](unsigned tries) {
        for (unsigned i = 0; i < tries; ++i) {
            const auto data = pattern(1000 + sent % 1000, sent);
            sent += be_am_bcopy(to_slow, 2, pack_vector,
                                const_cast<std::vector<uint8_t> *>(&data)) >= 0;
            be_fabric_progress(sender.fabric);
        }
    };
    while (slow.kept.size() < 150) { // it keeps, as long as it may
        flood(1);
        be_fabric_progress(slow.fabric);
    }
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::duration<double>(stop_seconds());
    double worst = 0;
    do { // it has stopped
        flood(100);
        const double beside = round_trip(sender, other, to_other, back);
        worst               = worst == 0 ? beside : std::min(worst, beside);
    } while (std::chrono::steady_clock::now() < until);
    BOOST_TEST_MESSAGE("round trip " << idle * 1e6 << " us alone, " << worst * 1e6
                                     << " us beside one that has stopped");
    BOOST_CHECK_LE(worst, 1.5 * idle);

    BOOST_REQUIRE(wait({&sender, &slow, &other}, [&] {
        flood(sent < 3000 ? 1 : 0);
        BOOST_REQUIRE_LE(slow.metric("receive_buffers"), config.rx_max);
        return sent >= 3000 && slow.received.size() == sent;
    }));
    BOOST_CHECK_GT(slow.metric("receives_copied"), 0u);
    for (unsigned i = 1; i < sent; ++i) {
        BOOST_REQUIRE(slow.received[i].data == pattern(1000 + i % 1000, i));
    }
    for (const auto &[number, payload] : slow.kept) { // untouched all the time
        BOOST_REQUIRE(std::equal(slow.received[number].data.begin(),
                                 slow.received[number].data.end(),
                                 static_cast<const uint8_t *>(payload)));
        be_rx_release(slow.fabric, payload);
    }
    BOOST_CHECK_EQUAL(sender.metric("rnr"), 0u);
}

// A sender that makes no progress never hears that it is to stop. False: it did not hear of new credit either, and
// had none left.
static bool ignored_hold_disconnects()
{
    Device device;
    const auto small = [](be_fabric_config_t &config) {
        config.rx_capacity = 64;
        config.rx_max      = 256;
    };
    be_fabric_config_t config = device.config();
    config.tx_queue           = 4096;
    Node deaf(device, config), good(device, device.config());
    Process receiver(device, 1, 2, small);
    be_peer_t *to_sleeper = deaf.connect(receiver[1]);
    be_peer_t *to_awake   = good.connect(receiver[0]);
    BOOST_REQUIRE(wait({&deaf, &good, &receiver[0]}, [&] {
        return be_am_short(to_sleeper, 1, 0, nullptr, 0) == BE_OK;
    }));
    // The other member makes progress for both; nobody opens the mail of this one.
    constexpr unsigned enough = 100000; // rounds of the receiver's without credit
    unsigned refused          = 0;
    BOOST_REQUIRE(wait({&receiver[0]}, [&] {
        const bool sent = be_am_short(to_sleeper, 1, 0, nullptr, 0) == BE_OK;
        refused         = sent ? 0 : refused + 1;
        return receiver[0].metric("peers_failed") == 1 || refused == enough;
    }));
    if (refused == enough) {
        BOOST_CHECK_LE(receiver[0].metric("receive_buffers"), 256u);
        return false;
    }
    BOOST_CHECK_GE(receiver[0].metric("holds"), 1u);
    BOOST_REQUIRE_EQUAL(send_bcopy({&good, &receiver[0]}, to_awake, 3, pattern(100, 3)),
                        BE_OK);
    BOOST_REQUIRE(wait({&good, &receiver[0]},
                       [&] { return receiver[0].received.size() == 1; }));
    BOOST_REQUIRE(wait({&deaf}, [&] { return be_peer_status(to_sleeper) != BE_OK; }));
    return true;
}

BOOST_AUTO_TEST_CASE(who_ignores_a_hold_is_disconnected)
{
    bool disconnected = false;
    for (int attempt = 0; (attempt < 20) && !disconnected; ++attempt) {
        disconnected = ignored_hold_disconnects();
    }
    BOOST_CHECK(disconnected);
}

// A message of one member is through before more bulk of the others than may be under way.
BOOST_AUTO_TEST_CASE(small_messages_pass_bulk_of_other_members)
{
    Device device;
    const auto small = [](be_fabric_config_t &config) {
        config.chunk  = 64 << 10;
        config.window = 256 << 10;
    };
    Process sender(device, 0, 8, small), receiver(device, 1, 1, small);
    Region source(device, 1 << 20), target(device, 1 << 20);
    std::vector<be_peer_t *> links;
    for (const auto &node : sender.nodes) {
        links.push_back(node->connect(receiver[0]));
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
        return be_am_short(links[7], 1, 0, nullptr, 0) == BE_OK;
    }));
    std::vector<int> completions(7 * 40);
    for (unsigned i = 0; i < completions.size(); ++i) {
        const be_sge_t sge{source.bytes.data(), source.bytes.size(), source.mem.lkey};
        BOOST_REQUIRE_EQUAL(be_put_zcopy(links[i % 7], &sge, 1,
                                         reinterpret_cast<uint64_t>(target.bytes.data()),
                                         target.mem.rkey, &completions[i]),
                            BE_INPROGRESS);
    }
    const auto done = [&] {
        size_t count = 0;
        for (unsigned i = 0; i < 7; ++i) {
            count += sender[i].completed.size();
        }
        return count;
    };
    unsigned messages = 0;
    while (done() < completions.size() / 2) {
        const size_t before   = done();
        const size_t received = receiver[0].received.size();
        BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
            return be_am_short(links[7], 1, 0, nullptr, 0) == BE_OK;
        }));
        BOOST_REQUIRE(wait_all({&sender, &receiver},
                               [&] { return receiver[0].received.size() > received; }));
        BOOST_REQUIRE_LE(done() - before, 7u); // of 1 MiB each, in turn
        ++messages;
        for (const auto &node : sender.nodes) {
            be_fabric_progress(node->fabric);
        }
    }
    BOOST_CHECK_GT(messages, 10u);
    BOOST_REQUIRE(
            wait_all({&sender, &receiver}, [&] { return done() == completions.size(); }));
}

// The child has nothing of its parent's fabrics, and makes its own.
BOOST_AUTO_TEST_CASE(a_child_of_fork_starts_anew_and_the_parent_goes_on)
{
    Device device;
    Process a(device, 0, 2), b(device, 1, 2);
    be_peer_t *peer = a[0].connect(b[1]);
    BOOST_REQUIRE(wait_all({&a, &b},
                           [&] { return be_am_short(peer, 1, 0, nullptr, 0) == BE_OK; }));
    const pid_t child = ::fork();
    BOOST_REQUIRE_GE(child, 0);
    if (child == 0) {
        bool good = false;
        {
            Device own;
            Process c(own, 0, 2), d(own, 1, 1);
            be_peer_t *link = c[1].connect(d[0]);
            good            = wait_all({&c, &d},
                                       [&] {
                                return be_am_short(link, 1, 7, nullptr, 0) == BE_OK;
                            }) &&
                   wait_all({&c, &d}, [&] { return d[0].received.size() == 1; }) &&
                   c[0].metric("members") == 2;
        }
        ::_exit(good ? 0 : 1);
    }
    int status = -1;
    pid_t ended;
    BOOST_REQUIRE(wait_all({&a, &b}, [&] {
        (void)be_am_short(peer, 1, 1, nullptr, 0);
        return (ended = ::waitpid(child, &status, WNOHANG)) != 0;
    }));
    BOOST_CHECK_EQUAL(ended, child);
    BOOST_CHECK_EQUAL(status, 0);
    const size_t before = b[1].received.size();
    BOOST_REQUIRE(wait_all({&a, &b}, [&] {
        (void)be_am_short(peer, 1, 2, nullptr, 0);
        return b[1].received.size() > before + 100;
    }));
    BOOST_CHECK(a[0].failed.empty() && b[1].failed.empty());
}
