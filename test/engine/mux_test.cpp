// SPDX-License-Identifier: BSD-3-Clause
//
// Several interfaces share a fabric: each gets its own, in order and whole, whatever the others do.

#define BOOST_TEST_MODULE mux
#include "process.hpp"

#include <cstring>
#include <optional>

using namespace test;

namespace {

ssize_t try_send(be_peer_t *peer, uint8_t id, const std::vector<uint8_t> &data)
{
    return be_am_bcopy(peer, id, pack_vector, const_cast<std::vector<uint8_t> *>(&data));
}

} // namespace

BOOST_AUTO_TEST_CASE(queue_pairs_depend_on_peers_alone)
{
    Device device;
    Process workers(device, 0, 8);
    std::vector<Process> peers;
    for (unsigned i = 1; i <= 4; ++i) {
        peers.emplace_back(device, i, 1);
    }
    for (const auto &worker : workers.nodes) {
        for (const Process &peer : peers) {
            be_peer_t *link = worker->connect(peer[0]);
            BOOST_REQUIRE(
                    wait_all({&workers, &peers[0], &peers[1], &peers[2], &peers[3]},
                             [&] { return try_send(link, 1, pattern(100, 1)) == 100; }));
        }
    }
    BOOST_REQUIRE(wait_all({&workers, &peers[0], &peers[1], &peers[2], &peers[3]}, [&] {
        return peers[0][0].received.size() == 8 && peers[3][0].received.size() == 8;
    }));
    for (const auto &worker : workers.nodes) {
        BOOST_CHECK_EQUAL(worker->metric("queue_pairs"), 8u);
        BOOST_CHECK_EQUAL(worker->metric("members"), 8u);
    }
    BOOST_CHECK_EQUAL(peers[2][0].metric("queue_pairs"), 2u);
}

BOOST_AUTO_TEST_CASE(only_the_same_settings_are_shared)
{
    Device device;
    Process one(device, 0, 2);
    Process other(device, 0, 1, [](be_fabric_config_t &config) { config.window *= 2; });
    Process own(device, 0, 1,
                [](be_fabric_config_t &config) { config.mux = BE_MUX_IFACE; });
    BOOST_CHECK_EQUAL(one[0].metric("members"), 2u);
    BOOST_CHECK_EQUAL(other[0].metric("members"), 1u);
    BOOST_CHECK_EQUAL(own[0].metric("members"), 1u);
    // Each has an address of its own, of one fabric or not.
    uint8_t a[BE_FABRIC_ADDR_LEN], b[BE_FABRIC_ADDR_LEN], c[BE_FABRIC_ADDR_LEN];
    be_fabric_address(one[0].fabric, a);
    be_fabric_address(one[1].fabric, b);
    be_fabric_address(other[0].fabric, c);
    BOOST_CHECK(std::memcmp(a, b, sizeof(a)) != 0);
    BOOST_CHECK(std::memcmp(a, b, 52) == 0); // all but the interface
    BOOST_CHECK(std::memcmp(a, c, 52) != 0);
}

BOOST_AUTO_TEST_CASE(everybody_gets_his_own_in_order)
{
    Device device;
    Process a(device, 0, 3), b(device, 1, 3);
    constexpr unsigned messages = 400;
    std::vector<std::pair<Node *, be_peer_t *>> flows; // every a to every b, and to every a
    std::vector<unsigned> next;
    for (const auto &from : a.nodes) {
        for (const Process *to : {&b, &a}) {
            for (const auto &target : to->nodes) {
                flows.emplace_back(target.get(), from->connect(*target));
                next.push_back(0);
            }
        }
    }
    BOOST_REQUIRE(wait_all({&a, &b}, [&] {
        bool all = true;
        for (size_t flow = 0; flow < flows.size(); ++flow) {
            const auto data = pattern(next[flow] % 600,
                                      static_cast<unsigned>(flow) + next[flow]);
            if (next[flow] < messages &&
                try_send(flows[flow].second, static_cast<uint8_t>(flow), data) >= 0) {
                ++next[flow];
            }
            all = all && next[flow] == messages;
        }
        return all;
    }));
    BOOST_REQUIRE(wait_all({&a, &b}, [&] {
        for (const auto &[target, link] : flows) {
            if (target->received.size() < 3 * messages) {
                return false;
            }
        }
        return true;
    }));
    std::vector<unsigned> seen(flows.size());
    for (const Process *process : {&a, &b}) {
        for (const auto &node : process->nodes) {
            BOOST_CHECK_EQUAL(node->received.size(), 3u * messages);
            for (const Received &message : node->received) {
                BOOST_REQUIRE_EQUAL(flows[message.id].first, node.get());
                const unsigned number = seen[message.id]++;
                BOOST_REQUIRE(message.data == pattern(number % 600, message.id + number));
            }
        }
    }
    BOOST_CHECK_EQUAL(a[0].metric("queue_pairs"), 4u); // to b, and to itself
}

BOOST_AUTO_TEST_CASE(who_stands_still_holds_up_his_own_messages_only)
{
    Device device;
    const auto small = [](be_fabric_config_t &config) {
        config.rx_capacity = 64;
        config.rx_max      = 128;
    };
    Process sender(device, 0, 2, small), receiver(device, 1, 4, small);
    Node &still            = receiver[1];
    be_peer_t *to_still    = sender[0].connect(still);
    be_peer_t *to_progress = sender[1].connect(receiver[0]);
    const auto others      = {&sender[0], &sender[1], &receiver[0]};

    // Until it is told to hold its messages back, while the other flow goes on.
    unsigned sent = 0, others_sent = 0;
    const auto both_send = [&] {
        sent += try_send(to_still, 1, pattern(sent % 500, sent)) >= 0;
        others_sent += try_send(to_progress, 2, pattern(40, others_sent)) >= 0;
    };
    BOOST_REQUIRE(wait(others, [&] {
        both_send();
        return receiver[0].metric("holds") != 0 && be_peer_can_send(to_still) == 0 &&
               others_sent > sent + 500;
    }));
    BOOST_TEST_MESSAGE(sent << " messages wait for who stands still");
    BOOST_CHECK_GE(sent, 64u);
    BOOST_CHECK_LE(sent, 1000u);
    BOOST_CHECK(!be_peer_can_send(to_still));
    BOOST_CHECK_EQUAL(still.received.size(), 0u);
    BOOST_CHECK_GE(receiver[0].metric("holds"), 1u);
    BOOST_CHECK_LE(receiver[0].metric("receive_buffers"), 128u);

    // With others that stand still, more messages wait than there are buffers.
    for (unsigned i : {2u, 3u}) {
        be_peer_t *to_this = sender[0].connect(receiver[i]);
        for (unsigned count = 0; count < 60; ++count) {
            BOOST_REQUIRE_EQUAL(send_bcopy(others, to_this, 3, pattern(99, count)),
                                BE_OK);
        }
    }
    const uint64_t copied = receiver[0].metric("receives_copied");

    // The other flow does not notice.
    const unsigned target = others_sent + 5000;
    while (others_sent < target) {
        BOOST_REQUIRE_EQUAL(send_bcopy(others, to_progress, 2, pattern(40, others_sent)),
                            BE_OK);
        ++others_sent;
    }
    BOOST_REQUIRE(
            wait(others, [&] { return receiver[0].received.size() == others_sent; }));
    BOOST_CHECK_EQUAL(still.received.size(), 0u);
    BOOST_CHECK(sender[0].failed.empty() && sender[1].failed.empty());

    // It goes on: everything is there, and more may be sent.
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return be_peer_can_send(to_still) == 1; }));
    for (unsigned i = 0; i < 500; ++i) {
        BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
            return try_send(to_still, 1, pattern(sent % 500, sent)) >= 0;
        }));
        ++sent;
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return still.received.size() == sent; }));
    for (unsigned i = 0; i < sent; ++i) {
        BOOST_REQUIRE(still.received[i].data == pattern(i % 500, i));
    }
    for (unsigned i : {2u, 3u}) {
        BOOST_REQUIRE(
                wait_all({&receiver}, [&] { return receiver[i].received.size() == 60; }));
        BOOST_CHECK(receiver[i].received[59].data == pattern(99, 59));
        be_fabric_progress(receiver[i].fabric); // hands in its accounts
    }
    BOOST_CHECK_GE(receiver[0].metric("receives_copied"), copied + 50);
    BOOST_CHECK_LE(receiver[0].metric("receive_buffers"), 128u);
    BOOST_CHECK_EQUAL(sender[0].metric("rnr"), 0u);
}

BOOST_AUTO_TEST_CASE(kept_payloads_outlive_their_turn)
{
    Device device;
    Process sender(device, 0, 1), receiver(device, 1, 2);
    be_peer_t *link  = sender[0].connect(receiver[1]);
    receiver[1].keep = true;
    for (unsigned i = 0; i < 300; ++i) {
        BOOST_REQUIRE(wait_all({&sender, &receiver},
                               [&] { return try_send(link, 1, pattern(300, i)) >= 0; }));
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return receiver[1].received.size() == 300; }));
    BOOST_CHECK_GT(receiver[1].kept.size(), 0u);
    for (const auto &[number, payload] : receiver[1].kept) {
        BOOST_REQUIRE(std::memcmp(payload, pattern(300, number).data(), 300) == 0);
        be_rx_release(receiver[1].fabric, payload);
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
        return receiver[0].metric("receive_buffers_used") ==
               receiver[0].metric("credit_posted");
    }));
}

BOOST_AUTO_TEST_CASE(an_interface_that_closes_is_gone_and_its_neighbours_stay)
{
    Device device;
    Process sender(device, 0, 2), receiver(device, 1, 3);
    be_peer_t *to_leaver = sender[0].connect(receiver[0]);
    be_peer_t *to_stayer = sender[0].connect(receiver[1]);
    be_peer_t *unused    = sender[1].connect(receiver[0]);
    const auto send      = [&](be_peer_t *link) {
        ssize_t result = BE_ERR_NO_RESOURCE;
        (void)wait_all({&sender, &receiver}, [&] {
            return (result = try_send(link, 1, pattern(30, 1))) != BE_ERR_NO_RESOURCE;
        });
        return result;
    };
    BOOST_REQUIRE_EQUAL(send(to_leaver), 30);
    BOOST_REQUIRE_EQUAL(send(to_stayer), 30);
    uint8_t old_address[BE_FABRIC_ADDR_LEN];
    be_fabric_address(receiver[0].fabric, old_address);
    receiver[0].close();

    // Silent until somebody uses it.
    BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
        return be_peer_status(to_leaver) == BE_ERR_PEER_FAILED;
    }));
    BOOST_CHECK(sender[0].failed.empty() && sender[1].failed.empty());
    BOOST_CHECK_EQUAL(send(to_leaver), BE_ERR_PEER_FAILED);
    BOOST_CHECK_EQUAL(be_put_zcopy(to_leaver, nullptr, 0, 0, 0, nullptr),
                      BE_ERR_PEER_FAILED);
    BOOST_REQUIRE(
            wait_all({&sender, &receiver}, [&] { return sender[0].failed.size() == 1; }));
    BOOST_CHECK_EQUAL(sender[0].failed[0].first, to_leaver);
    BOOST_CHECK(sender[1].failed.empty());
    BOOST_CHECK_EQUAL(be_peer_check(unused), BE_OK); // ... which is to ask
    BOOST_REQUIRE(
            wait_all({&sender, &receiver}, [&] { return sender[1].failed.size() == 1; }));
    BOOST_CHECK_NE(std::string(be_peer_failure(unused)), "");

    BOOST_REQUIRE_EQUAL(send(to_stayer), 30);
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return receiver[1].received.size() == 2; }));
    BOOST_CHECK_EQUAL(sender[0].metric("peers_failed"), 0u);

    // A stranger with the old address hears of it when he sends.
    Process stranger(device, 2, 1);
    be_peer_t *late = nullptr;
    BOOST_REQUIRE_EQUAL(be_peer_get(stranger[0].fabric, old_address, &late), BE_OK);
    stranger[0].peers.push_back(late);
    BOOST_REQUIRE(wait_all({&stranger, &receiver}, [&] {
        return try_send(late, 1, pattern(5, 5)) == BE_ERR_PEER_FAILED;
    }));
    // Neither does a new interface get what was for the old one.
    Node newcomer(device, receiver[1].config);
    BOOST_REQUIRE(wait_all({&stranger, &receiver},
                           [&] { return stranger[0].failed.size() == 1; }));
    be_fabric_progress(newcomer.fabric);
    BOOST_CHECK(newcomer.received.empty());
}

BOOST_AUTO_TEST_CASE(the_last_one_says_goodbye)
{
    Device device;
    Process sender(device, 0, 2), receiver(device, 1, 2);
    for (unsigned i : {0u, 1u}) {
        be_peer_t *link = sender[i].connect(receiver[i]);
        BOOST_REQUIRE(wait_all({&sender, &receiver},
                               [&] { return try_send(link, 1, pattern(30, i)) == 30; }));
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
        return receiver[0].received.size() == 1 && receiver[1].received.size() == 1;
    }));
    receiver[1].close();
    receiver[0].close();
    BOOST_REQUIRE(wait_all({&sender}, [&] { return sender[0].metric("peers") == 0; }));
    BOOST_CHECK_EQUAL(sender[1].metric("peers_departed"), 1u);
    BOOST_CHECK(sender[0].failed.empty() && sender[1].failed.empty());
}

BOOST_AUTO_TEST_CASE(a_failed_peer_is_reported_to_each_that_refers_to_it)
{
    Device device;
    Process sender(device, 0, 3), receiver(device, 1, 1);
    be_peer_t *links[2];
    for (unsigned i : {0u, 1u}) {
        links[i] = sender[i].connect(receiver[0]);
        BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
            return try_send(links[i], 1, pattern(30, i)) == 30;
        }));
    }
    // A wrong key breaks the queue pair, which they share.
    std::vector<uint8_t> data(4096);
    be_mem_t mem{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, data.data(), data.size(),
                                        BE_ACCESS_LOCAL, 0, &mem),
                        BE_OK);
    const be_sge_t sge{data.data(), data.size(), mem.lkey};
    int completion;
    BOOST_REQUIRE_EQUAL(be_put_zcopy(links[0], &sge, 1, 4096, 0x5500, &completion),
                        BE_INPROGRESS);
    BOOST_REQUIRE(wait_all({&sender, &receiver}, [&] {
        return sender[0].failed.size() == 1 && sender[1].failed.size() == 1;
    }));
    BOOST_CHECK_EQUAL(sender[0].completed[&completion], BE_ERR_PEER_FAILED);
    BOOST_CHECK_EQUAL(sender[0].failed[0].first, links[0]);
    BOOST_CHECK_EQUAL(sender[1].failed[0].first, links[1]);
    BOOST_CHECK(sender[2].failed.empty());
    be_mem_deregister(device.md, &mem);
}

BOOST_AUTO_TEST_CASE(bulk_of_members_takes_turns_in_bytes)
{
    Device device;
    const auto slow = [](be_fabric_config_t &config) {
        config.chunk  = 4096;
        config.window = 8192;
    };
    Process sender(device, 0, 2, slow), receiver(device, 1, 1, slow);
    std::vector<uint8_t> source(1 << 16), target(1 << 16);
    be_mem_t from{}, to{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, source.data(), source.size(),
                                        BE_ACCESS_LOCAL, 0, &from),
                        BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, target.data(), target.size(),
                                        BE_ACCESS_REMOTE_PUT, 0, &to),
                        BE_OK);
    // One member's operations are large, the other's small; both have plenty waiting.
    const size_t sizes[] = {source.size(), 2048};
    std::vector<int> completions[2];
    for (unsigned member : {0u, 1u}) {
        be_peer_t *link = sender[member].connect(receiver[0]);
        completions[member].resize(member == 0 ? 100 : 200);
        const be_sge_t sge{source.data(), sizes[member], from.lkey};
        for (int &one : completions[member]) {
            BOOST_REQUIRE(wait_all({&receiver}, [&] {
                be_status_t status = be_put_zcopy(link, &sge, 1,
                                                  reinterpret_cast<uint64_t>(
                                                          target.data()),
                                                  to.rkey, &one);
                if (status == BE_ERR_NO_RESOURCE) { // not connected yet
                    be_fabric_progress(sender[0].fabric);
                }
                return status == BE_INPROGRESS;
            }));
        }
    }
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return sender[1].completed.size() == 200; }));
    // 400 KiB of the one are through: about as much of the other's 6.4 MB.
    const size_t large = sender[0].completed.size() * sizes[0];
    BOOST_TEST_MESSAGE(large << " bytes of large operations beside " << 200 * 2048);
    BOOST_CHECK_LE(large, 3u * 200 * 2048);
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return sender[0].completed.size() == 100; }));
    be_mem_deregister(device.md, &from);
    be_mem_deregister(device.md, &to);
}

BOOST_AUTO_TEST_CASE(who_closes_with_operations_under_way_gets_no_surprise)
{
    Device device;
    Process sender(device, 0, 2), receiver(device, 1, 1);
    std::vector<uint8_t> source(1 << 22), target(1 << 22);
    be_mem_t from{}, to{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, source.data(), source.size(),
                                        BE_ACCESS_LOCAL, 0, &from),
                        BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, target.data(), target.size(),
                                        BE_ACCESS_REMOTE_PUT, 0, &to),
                        BE_OK);
    const be_sge_t sge{source.data(), source.size(), from.lkey};
    be_peer_t *link  = sender[0].connect(receiver[0]);
    be_peer_t *other = sender[1].connect(receiver[0]);
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return try_send(link, 1, pattern(30, 1)) == 30; }));
    std::vector<int> completions(50);
    for (int &one : completions) {
        BOOST_REQUIRE_EQUAL(be_put_zcopy(link, &sge, 1,
                                         reinterpret_cast<uint64_t>(target.data()),
                                         to.rkey, &one),
                            BE_INPROGRESS);
    }
    sender[0].close();
    // Nothing of it is left with the device or in the accounts, and the neighbour goes on.
    BOOST_CHECK_EQUAL(sender[1].metric("bulk_outstanding"), 0u);
    be_mem_deregister(device.md, &from);
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return try_send(other, 1, pattern(30, 2)) == 30; }));
    BOOST_REQUIRE(wait_all({&sender, &receiver},
                           [&] { return receiver[0].received.size() == 2; }));
    BOOST_CHECK(sender[1].failed.empty());
    be_mem_deregister(device.md, &to);
}
