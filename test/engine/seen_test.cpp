// SPDX-License-Identifier: BSD-3-Clause
//
// What others see of a path that is lost and recovered: the line in the log, the metrics, the rows of a page of
// statistics.

#define BOOST_TEST_MODULE seen
#include "pair.hpp"

#include "core/stats_reader.hpp"
#include "engine/fabric.hpp"

#include <memory>
#include <mutex>

using namespace test;
using be::core::StatsPage;
using be::core::StatsPeer;
using be::engine::Fault;
using be::engine::Peer;

namespace {

std::mutex log_mutex;
std::vector<std::string> log_lines;

void keep_line(be_log_level_t, const char *text)
{
    const std::lock_guard lock(log_mutex);
    log_lines.emplace_back(text);
}

// The one that begins so and has all the parts.
bool logged(const std::string &begin, const std::vector<std::string> &parts)
{
    const std::lock_guard lock(log_mutex);
    for (const std::string &line : log_lines) {
        if (line.starts_with(begin) &&
            std::all_of(parts.begin(), parts.end(), [&](const std::string &part) {
                return line.find(part) != std::string::npos;
            })) {
            return true;
        }
    }
    for (const std::string &line : log_lines) {
        BOOST_TEST_MESSAGE(line);
    }
    return false;
}

std::string hex(uint32_t number)
{
    char text[16];
    std::snprintf(text, sizeof(text), "%#x", number);
    return text;
}

std::unique_ptr<StatsPage> page_of(End &end)
{
    auto page        = std::make_unique<StatsPage>();
    page->peer_count = end.engine_peer().fabric.show_peers(page->peers);
    return page;
}

be::core::StatsPeerView only_peer(End &end)
{
    const auto view = be::core::read(*page_of(end));
    BOOST_REQUIRE_EQUAL(view.peers.size(), 1u);
    return view.peers[0];
}

std::string path_of(End &end)
{
    char text[1024];
    be_peer_path(end.peer, text, sizeof(text));
    return text;
}

struct Watched : Pair {
    explicit Watched(Device &device) : Pair(device, quick(device), 1)
    {
        const std::lock_guard lock(log_mutex);
        log_lines.clear();
        be_log_set(keep_line, BE_LOG_INFO);
    }

    ~Watched()
    {
        be_log_set(nullptr, BE_LOG_WARN);
    }

    bool recovered(uint64_t times)
    {
        return until([&] {
            a.act();
            b.act();
            return ready() && a.node.metric("recoveries") == times &&
                   b.node.metric("recoveries") == times;
        });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_loss_names_all_that_is_known_and_whose_fault_it_is)
{
    Device device;
    Watched pair(device);
    const std::string name = pair.a.engine_peer().name;
    const uint32_t qpn     = pair.a.engine_peer().messages.qp().number();
    // What is posted to it is flushed: our own fault. The other end is told.
    // Before anybody looks, or the device's own event could be what is seen first.
    BOOST_REQUIRE_EQUAL(pair.a.engine_peer().messages.qp().to_error(), 0);
    for (unsigned i = 0; i < 40; ++i) {
        pair.a.act();
    }
    BOOST_REQUIRE(pair.until([&] {
        pair.a.act();
        return pair.a.node.metric("paths_lost") == 1 &&
               pair.b.node.metric("paths_lost") == 1;
    }));
    BOOST_REQUIRE(pair.recovered(1));

    BOOST_CHECK(
            logged(name + ": local fault: ",
                   {"queue pair " + hex(qpn), std::string(" on ") + device.port.device,
                    "(status 5, vendor error 0x", "recovering (epoch 1)"}));
    BOOST_CHECK(
            logged(pair.b.engine_peer().name + ": remote fault: the peer gave up",
                   {std::string(" on ") + device.port.device, "recovering (epoch 1)"}));
    BOOST_CHECK_EQUAL(pair.a.node.metric("paths_lost_local"), 1u);
    BOOST_CHECK_EQUAL(pair.a.node.metric("paths_lost_remote"), 0u);
    BOOST_CHECK_EQUAL(pair.b.node.metric("paths_lost_local"), 0u);
    BOOST_CHECK_EQUAL(pair.b.node.metric("paths_lost_remote"), 1u);

    const auto seen = only_peer(pair.a);
    BOOST_CHECK_EQUAL(seen.name, name);
    BOOST_CHECK_EQUAL(seen.state, "ready");
    BOOST_CHECK_EQUAL(seen.path, "rdma");
    BOOST_CHECK_EQUAL(seen.side, "local");
    BOOST_CHECK_EQUAL(seen.values[StatsPeer::epoch], 1u);
    BOOST_CHECK_EQUAL(seen.values[StatsPeer::losses], 1u);
    BOOST_CHECK_EQUAL(seen.values[StatsPeer::recoveries], 1u);
    BOOST_CHECK_EQUAL(seen.values[StatsPeer::queue_pair], qpn);
    BOOST_CHECK_EQUAL(seen.values[StatsPeer::status], 5u);
    BOOST_CHECK_GT(seen.values[StatsPeer::last_time], 0u);
    BOOST_CHECK_EQUAL(only_peer(pair.b).side, "remote");
    BOOST_CHECK(path_of(pair.a).find("epoch 1\nside channel there\nlosses 1\n"
                                     "recoveries 1\nlast loss local fault: ") !=
                std::string::npos);
}

BOOST_AUTO_TEST_CASE(who_gets_no_answer_blames_the_other_side)
{
    Device device;
    Watched pair(device);
    // No event tells b of that, and it sends nothing.
    BOOST_REQUIRE_EQUAL(pair.b.engine_peer().messages.qp().to_reset(), 0);
    BOOST_REQUIRE(pair.until([&] {
        pair.a.act();
        return pair.a.node.metric("paths_lost") == 1;
    }));
    BOOST_CHECK_EQUAL(only_peer(pair.a).side, "remote");
    BOOST_CHECK_EQUAL(pair.a.node.metric("paths_lost_remote"), 1u);
    BOOST_REQUIRE(pair.recovered(1));
}

BOOST_AUTO_TEST_CASE(durations_add_up)
{
    Device device;
    Watched pair(device);
    constexpr uint64_t rounds = 5;
    for (uint64_t round = 1; round <= rounds; ++round) {
        (void)pair.a.engine_peer().messages.qp().to_error();
        BOOST_REQUIRE(pair.recovered(round));
    }
    uint64_t before = 0;
    for (const uint64_t bound : be::core::recovery_bounds_us) {
        const std::string name = "recovery_time_below_" + std::to_string(bound) + "us";
        const uint64_t below   = pair.a.node.metric(name.c_str());
        BOOST_CHECK_GE(below, before);
        before = below;
    }
    BOOST_CHECK_EQUAL(before, rounds); // none takes 16 s
    BOOST_CHECK_EQUAL(only_peer(pair.a).below.back(), rounds);
    const uint64_t longest = pair.a.node.metric("recovery_longest_time");
    BOOST_CHECK_GE(longest, pair.a.node.metric("recovery_last_time"));
    BOOST_CHECK_LE(longest, pair.a.node.metric("recovery_time"));
}

// However many peers there are.
BOOST_AUTO_TEST_CASE(the_ones_in_trouble_are_shown_first)
{
    Device device;
    Pair pair(device, quick(device), 1);
    be::engine::RecoveryRecord record;
    std::vector<std::unique_ptr<Peer>> peers;
    for (uint32_t i = 0; i < 10'000; ++i) {
        peers.push_back(std::make_unique<Peer>(pair.a.engine_peer().fabric, i,
                                               be::control::Identity{},
                                               be::core::RecoveryConfig{}));
        peers.back()->name  = "peer " + std::to_string(i);
        peers.back()->state = Peer::State::ready;
    }
    const auto lose = [&](uint32_t i, Fault::Side side) {
        peers[i]->fault      = Fault("a test");
        peers[i]->fault.side = side;
        record.lost(*peers[i]);
    };
    const auto shown = [&] {
        const auto page  = std::make_unique<StatsPage>();
        page->peer_count = record.show(peers, page->peers);
        return be::core::read(*page).peers;
    };
    BOOST_REQUIRE_EQUAL(shown().size(), StatsPage::max_peers); // all are well
    lose(7'000, Fault::Side::remote);
    peers[7'000]->state = Peer::State::recovering;
    for (uint32_t i = 8'000; i < 9'000; ++i) { // have recovered
        lose(i, Fault::Side::local);
    }
    auto rows = shown();
    BOOST_REQUIRE_EQUAL(rows.size(), StatsPage::max_peers);
    BOOST_CHECK_EQUAL(rows[0].name, "peer 7000");
    BOOST_CHECK_EQUAL(rows[1].name, "peer 8999");
    BOOST_CHECK_EQUAL(rows[31].name, "peer 8969");

    record.forget(*peers[7'000]); // it is lost
    record.forget(*peers[8'999]);
    BOOST_CHECK_EQUAL(shown()[0].name, "peer 8998");
}
