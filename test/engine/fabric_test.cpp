// SPDX-License-Identifier: BSD-3-Clause
//
// Two fabrics of one process talk over the software device.

#define BOOST_TEST_MODULE fabric
#include "world.hpp"

#include <cstring>
#include <poll.h>
#include <random>

using namespace test;

namespace {

struct Pair {
    explicit Pair(const std::function<void(be_fabric_config_t &)> &change = {}) :
        a(device, changed(change)), b(device, changed(change))
    {
    }

    be_fabric_config_t
    changed(const std::function<void(be_fabric_config_t &)> &change) const
    {
        be_fabric_config_t config = device.config();
        if (change) {
            change(config);
        }
        return config;
    }

    bool wait(const std::function<bool()> &done)
    {
        return test::wait({&a, &b}, done);
    }

    Device device;
    Node a;
    Node b;
};

struct Memory {
    Memory(Device &device, size_t size) : md(device.md), bytes(size)
    {
        BOOST_REQUIRE_EQUAL(be_mem_register(md, bytes.data(), size,
                                            BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT |
                                                    BE_ACCESS_REMOTE_GET,
                                            0, &mem),
                            BE_OK);
    }

    ~Memory()
    {
        be_mem_deregister(md, &mem);
    }

    void fill(unsigned seed)
    {
        const auto data = pattern(bytes.size(), seed);
        std::copy(data.begin(), data.end(), bytes.begin());
    }

    uint64_t address() const
    {
        return reinterpret_cast<uint64_t>(bytes.data());
    }

    be_md_t *md;
    std::vector<uint8_t> bytes;
    be_mem_t mem{};
};

} // namespace

BOOST_AUTO_TEST_CASE(messages_of_every_kind_arrive_whole_and_in_order)
{
    Pair pair;
    be_peer_t *peer = pair.a.connect(pair.b);
    be_fabric_attr_t attr;
    be_fabric_query(pair.a.fabric, &attr);
    Memory source(pair.device, attr.max_zcopy);

    std::vector<Received> sent;
    int completion[64];
    unsigned zcopies = 0;
    for (unsigned i = 0; i < 300; ++i) {
        const size_t limit = i % 3 == 0 ? attr.max_short - 8 : attr.max_bcopy;
        const auto data = pattern(i < 6 ? (i / 3) * limit : (i * 7919) % (limit + 1), i);
        if (i % 3 == 0) {
            const uint64_t header = 0x0123456789abcdefULL + i;
            BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                                     [&]() -> ssize_t {
                                         return be_am_short(peer, 1, header, data.data(),
                                                            static_cast<unsigned>(
                                                                    data.size()));
                                     }),
                                BE_OK);
            std::vector<uint8_t> whole(8 + data.size());
            std::memcpy(whole.data(), &header, 8);
            std::copy(data.begin(), data.end(), whole.begin() + 8);
            sent.push_back({1, whole});
        } else if (i % 3 == 1) {
            BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 2, data), BE_OK);
            sent.push_back({2, data});
        } else if (zcopies < 64) {
            const auto body = pattern(std::min<size_t>(data.size(), attr.max_zcopy - 16),
                                      i);
            BOOST_REQUIRE(pair.wait([&] { return pair.a.completed.size() == zcopies; }));
            std::copy(body.begin(), body.end(), source.bytes.begin());
            const be_sge_t sge{source.bytes.data(), body.size(), source.mem.lkey};
            const auto header = pattern(16, i);
            BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                                     [&]() -> ssize_t {
                                         return be_am_zcopy(peer, 3, header.data(), 16,
                                                            &sge, 1,
                                                            &completion[zcopies]);
                                     }),
                                BE_INPROGRESS);
            ++zcopies;
            auto whole = header;
            whole.insert(whole.end(), body.begin(), body.end());
            sent.push_back({3, whole});
        }
    }
    BOOST_REQUIRE(pair.wait([&] {
        return pair.b.received.size() == sent.size() &&
               pair.a.completed.size() == zcopies;
    }));
    for (size_t i = 0; i < sent.size(); ++i) {
        BOOST_REQUIRE_EQUAL(pair.b.received[i].id, sent[i].id);
        BOOST_REQUIRE(pair.b.received[i].data == sent[i].data);
    }
    BOOST_CHECK_EQUAL(pair.a.metric("rnr"), 0u);
}

BOOST_AUTO_TEST_CASE(a_fabric_talks_to_itself)
{
    Device device;
    Node node(device, device.config());
    be_peer_t *peer = node.connect(node);
    for (unsigned i = 0; i < 1000; ++i) {
        BOOST_REQUIRE_EQUAL(send_bcopy({&node}, peer, 5, pattern(i, i)), BE_OK);
    }
    BOOST_REQUIRE(wait({&node}, [&] { return node.received.size() == 1000; }));
    BOOST_CHECK(node.received[999].data == pattern(999, 999));
}

BOOST_AUTO_TEST_CASE(both_may_connect_at_once)
{
    for (unsigned round = 0; round < 20; ++round) {
        Pair pair;
        be_peer_t *to_b = pair.a.connect(pair.b);
        be_peer_t *to_a = pair.b.connect(pair.a);
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, to_b, 1, pattern(10, 1)),
                            BE_OK);
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, to_a, 1, pattern(10, 2)),
                            BE_OK);
        BOOST_REQUIRE(pair.wait([&] {
            return pair.a.received.size() == 1 && pair.b.received.size() == 1;
        }));
        BOOST_CHECK_EQUAL(pair.a.metric("queue_pairs"), 2u);
        BOOST_CHECK_EQUAL(pair.b.metric("queue_pairs"), 2u);
        BOOST_CHECK(pair.a.failed.empty() && pair.b.failed.empty());
    }
}

BOOST_AUTO_TEST_CASE(put_and_get_of_every_size)
{
    Pair pair([](be_fabric_config_t &config) {
        config.chunk  = 4096; // many pieces
        config.window = 16384;
    });
    be_peer_t *peer   = pair.a.connect(pair.b);
    const size_t size = 1 << 20;
    Memory local(pair.device, size);
    Memory remote(pair.device, size);
    int completion;

    for (const size_t length : {size_t{0}, size_t{1}, size_t{7}, size_t{4095},
                                size_t{4096}, size_t{4097}, size_t{65536}, size - 3}) {
        local.fill(static_cast<unsigned>(length));
        std::fill(remote.bytes.begin(), remote.bytes.end(), uint8_t{0});
        const be_sge_t parts[] = {{local.bytes.data() + 1, length / 3, local.mem.lkey},
                                  {local.bytes.data() + 1 + length / 3, 0,
                                   local.mem.lkey},
                                  {local.bytes.data() + 1 + length / 3,
                                   length - length / 3, local.mem.lkey}};
        BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                                 [&]() -> ssize_t {
                                     return be_put_zcopy(peer, parts, 3,
                                                         remote.address() + 2,
                                                         remote.mem.rkey, &completion);
                                 }),
                            BE_INPROGRESS);
        BOOST_REQUIRE(
                pair.wait([&] { return pair.a.completed.count(&completion) != 0; }));
        BOOST_REQUIRE_EQUAL(pair.a.completed[&completion], BE_OK);
        pair.a.completed.clear();
        BOOST_CHECK(std::equal(local.bytes.begin() + 1, local.bytes.begin() + 1 + length,
                               remote.bytes.begin() + 2));
        BOOST_CHECK_EQUAL(remote.bytes[1], 0);
        BOOST_CHECK_EQUAL(remote.bytes[2 + length], 0);

        Memory back(pair.device, size);
        const be_sge_t whole{back.bytes.data() + 3, length, back.mem.lkey};
        BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                                 [&]() -> ssize_t {
                                     return be_get_zcopy(peer, &whole, 1,
                                                         remote.address() + 2,
                                                         remote.mem.rkey, &completion);
                                 }),
                            BE_INPROGRESS);
        BOOST_REQUIRE(
                pair.wait([&] { return pair.a.completed.count(&completion) != 0; }));
        pair.a.completed.clear();
        BOOST_CHECK(std::equal(back.bytes.begin() + 3, back.bytes.begin() + 3 + length,
                               local.bytes.begin() + 1));
    }
}

BOOST_AUTO_TEST_CASE(short_and_buffered_remote_access)
{
    Pair pair;
    be_peer_t *peer = pair.a.connect(pair.b);
    Memory remote(pair.device, 16384);
    auto data = pattern(100, 3);
    BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                             [&]() -> ssize_t {
                                 return be_put_short(peer, data.data(), 100,
                                                     remote.address(), remote.mem.rkey);
                             }),
                        BE_OK);
    auto block     = pattern(8000, 4);
    ssize_t packed = BE_ERR_NO_RESOURCE;
    BOOST_REQUIRE(pair.wait([&] {
        packed = be_put_bcopy(peer, pack_vector, &block, remote.address() + 100,
                              remote.mem.rkey);
        return packed != BE_ERR_NO_RESOURCE;
    }));
    BOOST_CHECK_EQUAL(packed, 8000);
    int flushed, got;
    const be_status_t status = be_peer_flush(peer, &flushed);
    BOOST_REQUIRE(status == BE_OK ||
                  pair.wait([&] { return pair.a.completed.count(&flushed) != 0; }));
    BOOST_CHECK(std::equal(data.begin(), data.end(), remote.bytes.begin()));
    BOOST_CHECK(std::equal(block.begin(), block.end(), remote.bytes.begin() + 100));
    BOOST_REQUIRE_EQUAL(be_get_bcopy(peer, nullptr, nullptr, 8000, remote.address() + 100,
                                     remote.mem.rkey, &got),
                        BE_INPROGRESS);
    BOOST_REQUIRE(pair.wait([&] { return pair.a.completed.count(&got) != 0; }));
    BOOST_CHECK(pair.a.unpacked == block);
}

BOOST_AUTO_TEST_CASE(two_receives_are_enough)
{
    Pair pair([](be_fabric_config_t &config) {
        config.rx_capacity = 2;
        config.rx_max      = 4;
    });
    be_peer_t *peer = pair.a.connect(pair.b);
    for (unsigned i = 0; i < 20000; ++i) {
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(i % 64, i)),
                            BE_OK);
    }
    BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == 20000; }));
    BOOST_CHECK(pair.b.received.back().data == pattern(19999 % 64, 19999));
    BOOST_CHECK_EQUAL(pair.a.metric("rnr"), 0u);
    BOOST_CHECK_LE(pair.b.metric("receive_buffers"), 4u);
}

BOOST_AUTO_TEST_CASE(kept_receives_are_replaced_up_to_the_cap)
{
    Pair pair([](be_fabric_config_t &config) {
        config.rx_capacity = 64;
        config.rx_max      = 256;
    });
    be_peer_t *peer = pair.a.connect(pair.b);
    pair.b.keep     = true;
    for (unsigned i = 0; i < 1000; ++i) {
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(200, i)),
                            BE_OK);
    }
    BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == 1000; }));
    BOOST_CHECK_LE(pair.b.metric("receive_buffers"), 256u);
    BOOST_CHECK_GT(pair.b.kept.size(), 100u);
    BOOST_CHECK_GT(pair.b.metric("receives_copied"), 0u);
    for (const auto &[number, payload] : pair.b.kept) {
        BOOST_REQUIRE(std::memcmp(payload, pattern(200, number).data(), 200) == 0);
        be_rx_release(pair.b.fabric, payload);
    }
    pair.b.keep = false;
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(200, 7)), BE_OK);
    BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == 1001; }));
}

BOOST_AUTO_TEST_CASE(a_fence_orders_messages_behind_puts)
{
    Pair pair([](be_fabric_config_t &config) {
        config.chunk  = 4096;
        config.window = 8192;
    });
    be_peer_t *peer = pair.a.connect(pair.b);
    Memory local(pair.device, 1 << 20);
    Memory remote(pair.device, 1 << 20);
    for (unsigned round = 1; round < 20; ++round) {
        local.fill(round);
        const be_sge_t whole{local.bytes.data(), local.bytes.size(), local.mem.lkey};
        BOOST_REQUIRE_EQUAL(push({&pair.a, &pair.b},
                                 [&]() -> ssize_t {
                                     return be_put_zcopy(peer, &whole, 1,
                                                         remote.address(),
                                                         remote.mem.rkey, nullptr);
                                 }),
                            BE_INPROGRESS);
        be_peer_fence(peer);
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(4, round)),
                            BE_OK);
        BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == round; }));
        BOOST_REQUIRE(remote.bytes == local.bytes);
    }
}

// What waits behind a fence must not use up the window that the fence waits for.
BOOST_AUTO_TEST_CASE(a_fence_between_gets_and_puts_needs_no_window)
{
    constexpr size_t length = 256 << 10;
    Device device;
    be_fabric_config_t config = device.config();
    config.chunk              = 4096;
    config.window             = 16384;
    Node a(device, config), b(device, config);
    be_peer_t *peer = a.connect(b);
    be_mem_t mine, theirs;
    BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, 2 * length, &mine), BE_OK);
    BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, 2 * length, &theirs), BE_OK);
    const be_sge_t part{mine.address, length, mine.lkey};
    const auto remote = reinterpret_cast<uint64_t>(theirs.address);
    uintptr_t wanted  = 0;
    for (unsigned round = 0; round < 4; ++round) {
        const auto operate = round % 2 == 0 ? be_get_zcopy : be_put_zcopy;
        BOOST_REQUIRE_EQUAL(push({&a, &b},
                                 [&] {
                                     return operate(peer, &part, 1, remote, theirs.rkey,
                                                    reinterpret_cast<void *>(wanted + 1));
                                 }),
                            BE_INPROGRESS);
        ++wanted;
        be_peer_fence(peer);
    }
    BOOST_CHECK(wait({&a, &b}, [&] { return a.completed.size() == wanted; }));
    a.close();
    be_mem_free(device.md, &mine);
    be_mem_free(device.md, &theirs);
}

BOOST_AUTO_TEST_CASE(the_event_descriptor_wakes_a_sleeper)
{
    Pair pair;
    be_peer_t *peer             = pair.a.connect(pair.b);
    const auto prepare_to_sleep = [](Node &node) {
        while (be_fabric_arm(node.fabric) == BE_ERR_BUSY) {
            be_fabric_progress(node.fabric);
        }
        return pollfd{be_fabric_event_fd(node.fabric), POLLIN, 0};
    };
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(1, 0)), BE_OK);
    BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == 1; }));
    // Its credit updates go out once it is connected as well, which a message of its own shows.
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, pair.b.connect(pair.a), 1,
                                   pattern(1, 0)),
                        BE_OK);
    for (unsigned i = 1; i < 200; ++i) {
        pollfd descriptor = prepare_to_sleep(pair.b);
        BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a}, peer, 1, pattern(i, i)), BE_OK);
        BOOST_REQUIRE_EQUAL(::poll(&descriptor, 1, 10000), 1);
        BOOST_REQUIRE(wait({&pair.b}, [&] { return pair.b.received.size() == i + 1; }));
    }
    // A sender out of credit sleeps too, and the answer to its request wakes it.
    Pair tiny([](be_fabric_config_t &config) {
        config.rx_capacity = 2;
        config.rx_max      = 4;
    });
    be_peer_t *narrow = tiny.a.connect(tiny.b);
    BOOST_REQUIRE_EQUAL(send_bcopy({&tiny.a, &tiny.b}, narrow, 1, pattern(1, 0)), BE_OK);
    auto data = pattern(10, 1);
    while (be_am_bcopy(narrow, 1, pack_vector, &data) >= 0) {
    }
    pollfd descriptor = prepare_to_sleep(tiny.a);
    BOOST_REQUIRE(wait({&tiny.b}, [&] { return ::poll(&descriptor, 1, 0) == 1; }));
    BOOST_REQUIRE_EQUAL(send_bcopy({&tiny.a, &tiny.b}, narrow, 1, data), BE_OK);
}

BOOST_AUTO_TEST_CASE(a_goodbye_is_silent_until_somebody_sends)
{
    Pair pair;
    be_peer_t *peer = pair.a.connect(pair.b);
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(9, 1)), BE_OK);
    BOOST_REQUIRE(pair.wait([&] { return pair.b.received.size() == 1; }));
    pair.b.close();
    BOOST_REQUIRE(pair.wait([&] { return pair.a.metric("peers") == 0; }));
    BOOST_CHECK(pair.a.failed.empty());
    auto data = pattern(9, 2);
    BOOST_CHECK_EQUAL(be_am_bcopy(peer, 1, pack_vector, &data),
                      ssize_t{BE_ERR_PEER_FAILED});
    BOOST_REQUIRE(pair.wait([&] { return !pair.a.failed.empty(); }));
    BOOST_CHECK_EQUAL(pair.a.failed[0].first, peer);
    BOOST_CHECK(be_peer_departed(peer));
    BOOST_CHECK_EQUAL(pair.a.metric("queue_pairs"), 0u);
}

BOOST_AUTO_TEST_CASE(a_bad_key_fails_the_peer_and_completes_everything_once)
{
    Pair pair;
    be_peer_t *peer = pair.a.connect(pair.b);
    Memory local(pair.device, 1 << 20);
    Memory remote(pair.device, 1 << 20);
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.a, &pair.b}, peer, 1, pattern(9, 1)), BE_OK);
    const be_sge_t whole{local.bytes.data(), local.bytes.size(), local.mem.lkey};
    int completion[8];
    unsigned accepted = 0;
    for (int &one : completion) {
        const bool bad = &one == &completion[4];
        if (be_put_zcopy(peer, &whole, 1, remote.address(),
                         remote.mem.rkey ^ (bad ? 0x5500u : 0u), &one) == BE_INPROGRESS) {
            ++accepted;
        }
    }
    BOOST_REQUIRE_GT(accepted, 4u);
    BOOST_REQUIRE(pair.wait([&] {
        return pair.a.failed.size() == 1 && pair.a.completed.size() == accepted;
    }));
    BOOST_CHECK_EQUAL(pair.a.completed[&completion[0]], BE_OK);
    BOOST_CHECK_EQUAL(pair.a.completed[&completion[4]], BE_ERR_PEER_FAILED);
    BOOST_CHECK_EQUAL(be_peer_status(peer), BE_ERR_PEER_FAILED);
    BOOST_CHECK(!be_peer_departed(peer));
}

BOOST_AUTO_TEST_CASE(connections_come_and_go_without_a_trace)
{
    Device device;
    Node server(device, device.config());
    for (unsigned i = 0; i < 100; ++i) {
        Node client(device, device.config());
        be_peer_t *peer = client.connect(server);
        BOOST_REQUIRE_EQUAL(send_bcopy({&client, &server}, peer, 1, pattern(16, i)),
                            BE_OK);
        BOOST_REQUIRE(wait({&client, &server},
                           [&] { return server.received.size() == i + 1; }));
    }
    BOOST_REQUIRE(wait({&server}, [&] { return server.metric("peers") == 0; }));
    BOOST_CHECK_EQUAL(server.metric("queue_pairs"), 0u);
    BOOST_CHECK_EQUAL(server.metric("peers_failed"), 0u);
}
