// SPDX-License-Identifier: BSD-3-Clause
//
// What a queue pair's failure costs, on the software device: the time until something new is delivered, and the
// goodput while one fails every 100 ms. Both fabrics are driven by one thread, in turns, so nothing here waits for a
// processor but the side channel.
//
// BE_BENCH_FAULTS and BE_BENCH_SECONDS set how many and how long.

#define BOOST_TEST_MODULE recovery_bench
#include "engine/world.hpp"

#include "engine/peer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace test;

namespace {

using Clock = std::chrono::steady_clock;

double number_from_environment(const char *name, double otherwise)
{
    const char *text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

double since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// a sends to b.
struct Pair {
    Pair() : a(device, device.config()), b(device, device.config())
    {
        to_b = a.connect(b);
        to_a = b.connect(a);
        BOOST_REQUIRE(
                wait({&a, &b}, [&] { return be_peer_can_send(to_b) && ready(to_a); }));
    }

    static be::engine::Peer &engine_peer(be_peer_t *peer)
    {
        return static_cast<be::engine::Link *>(peer)->peer;
    }

    static bool ready(be_peer_t *peer)
    {
        return engine_peer(peer).state == be::engine::Peer::State::ready;
    }

    // The queue pair that carries messages, or bulk, fails at one end, without a word to anybody.
    static bool fault(be_peer_t *at, bool bulk)
    {
        auto &peer  = engine_peer(at);
        auto &queue = bulk ? peer.bulk : peer.messages;
        return ready(at) && queue.exists() && queue.qp().to_error() == 0;
    }

    // What has been taken by b, and then forgotten.
    void send_one()
    {
        uint64_t content[8] = {};
        content[1]          = sent;
        if (be_am_short(to_b, 1, sent, content, sizeof(content)) == BE_OK) {
            ++sent;
        }
        be_fabric_progress(a.fabric);
        be_fabric_progress(b.fabric);
        for (const Received &received : b.received) {
            uint64_t number;
            std::memcpy(&number, received.data.data(), sizeof(number));
            BOOST_REQUIRE_EQUAL(number, delivered);
            ++delivered;
        }
        b.received.clear();
    }

    Device device;
    Node a, b;
    be_peer_t *to_b    = nullptr;
    be_peer_t *to_a    = nullptr;
    uint64_t sent      = 0;
    uint64_t delivered = 0;
};

void time_to_delivery(const char *what, bool at_sender, unsigned count)
{
    Pair pair;
    std::vector<double> times;
    while (times.size() < count) {
        // Longer than a connection must be up to count as stable.
        for (const auto start = Clock::now(); since(start) < 5e-3;) {
            pair.send_one();
        }
        BOOST_REQUIRE(Pair::fault(at_sender ? pair.to_b : pair.to_a, false));
        const auto start        = Clock::now();
        const uint64_t next_one = pair.sent;
        while (pair.delivered <= next_one) {
            pair.send_one();
            BOOST_REQUIRE_LT(since(start), 20);
        }
        times.push_back(since(start) * 1e3);
    }
    std::sort(times.begin(), times.end());
    std::printf("from the failure of the %s's queue pair to a new message: p50 %.3f ms, "
                "p99 %.3f ms, max %.3f ms, %zu times\n",
                what, times[times.size() / 2], times[times.size() * 99 / 100],
                times.back(), times.size());
    std::fflush(stdout);
}

// Puts of 64 KiB; seconds between failures, or none. Bytes a second.
double goodput(Pair &pair, be_mem_t &from, be_mem_t &to, double seconds, double between,
               unsigned &faults)
{
    constexpr size_t length = 64 << 10, window = 32;
    size_t posted = 0, complete = 0;
    double next      = between;
    const auto start = Clock::now();
    while (since(start) < seconds || complete < posted) {
        if (since(start) < seconds && posted - complete < window) {
            const be_sge_t part{from.address, length, from.lkey};
            posted += be_put_zcopy(pair.to_b, &part, 1,
                                   reinterpret_cast<uint64_t>(to.address), to.rkey,
                                   reinterpret_cast<void *>(posted + 1)) == BE_INPROGRESS;
        }
        be_fabric_progress(pair.a.fabric);
        be_fabric_progress(pair.b.fabric);
        for (const auto &[what, status] : pair.a.completed) {
            BOOST_REQUIRE_EQUAL(status, BE_OK);
        }
        complete += pair.a.completed.size();
        pair.a.completed.clear();
        if (between != 0 && since(start) >= next) {
            faults += Pair::fault(pair.to_b, true);
            next += between;
        }
        BOOST_REQUIRE_LT(since(start), seconds + 20);
    }
    return static_cast<double>(complete * length) / since(start);
}

unsigned faults_wanted()
{
    return static_cast<unsigned>(number_from_environment("BE_BENCH_FAULTS", 250));
}

} // namespace

BOOST_AUTO_TEST_CASE(time_until_delivery)
{
    time_to_delivery("sender", true, faults_wanted());
}

BOOST_AUTO_TEST_CASE(time_until_delivery_receiver)
{
    // The sender meets silence: the receiver's device has to say it.
    time_to_delivery("receiver", false, faults_wanted());
}

BOOST_AUTO_TEST_CASE(goodput_under_failures)
{
    const double seconds = number_from_environment("BE_BENCH_SECONDS", 10);
    Pair pair;
    be_mem_t from{}, to{};
    unsigned faults = 0;
    BOOST_REQUIRE_EQUAL(be_mem_alloc(pair.device.md, 64 << 10, &from), BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_alloc(pair.device.md, 64 << 10, &to), BE_OK);
    std::memset(from.address, 7, 64 << 10);
    (void)goodput(pair, from, to, seconds / 10, 0, faults); // warm-up
    // In turns of a second, so that whatever else the machine does hits both alike.
    double quiet = 0, troubled = 0, least = 1e9, most = 0;
    const auto turns = std::max(1u, static_cast<unsigned>(seconds));
    for (unsigned i = 0; i < turns; ++i) {
        const double without = goodput(pair, from, to, seconds / turns, 0, faults);
        const double with    = goodput(pair, from, to, seconds / turns, 0.1, faults);
        quiet += without;
        troubled += with;
        least = std::min(least, with / without);
        most  = std::max(most, with / without);
    }
    std::printf(
            "puts of 64 KiB with a failure every 100 ms: %.0f MB/s, without %.0f MB/s, "
            "ratio %.3f (%.3f to %.3f in turns of a second), %u failures\n",
            troubled / turns / 1e6, quiet / turns / 1e6, troubled / quiet, least, most,
            faults);
    be_mem_free(pair.device.md, &from);
    be_mem_free(pair.device.md, &to);
}
