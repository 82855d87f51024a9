// SPDX-License-Identifier: BSD-3-Clause
//
// Byte credit over the software device: budgets so small that everything large waits for it.

#define BOOST_TEST_MODULE bytes
#include "waiting.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

using namespace test;

namespace {

// A budget of 64 KiB: a message of 8 KiB is one of eight that may be under way.
be_fabric_config_t tight(const Device &device)
{
    be_fabric_config_t config = device.config();
    config.byte_budget        = 64 << 10;
    return config;
}

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

    uint64_t address(size_t offset = 0) const
    {
        return reinterpret_cast<uint64_t>(bytes.data()) + offset;
    }

    be_md_t *md;
    std::vector<uint8_t> bytes;
    be_mem_t mem{};
};

size_t length_of(unsigned i)
{
    return i % 3 == 0 ? 40 + i % 100 : 300 + (i * 997) % 7800;
}

} // namespace

BOOST_AUTO_TEST_CASE(messages_of_all_sizes_from_many_arrive_whole_and_in_order)
{
    constexpr unsigned senders = 6, each = 300;
    Device device;
    Node receiver(device, tight(device));
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<be_peer_t *> peers;
    for (unsigned i = 0; i < senders; ++i) {
        nodes.push_back(std::make_unique<Node>(device, tight(device)));
        peers.push_back(nodes.back()->connect(receiver));
    }
    std::vector<unsigned> sent(senders), taken(senders);
    BOOST_REQUIRE(wait({&receiver}, [&] {
        for (unsigned i = 0; i < senders; ++i) {
            be_fabric_progress(nodes[i]->fabric);
            if (sent[i] == each) {
                continue;
            }
            auto data = pattern(length_of(sent[i]), i * each + sent[i]);
            if (be_am_bcopy(peers[i], static_cast<uint8_t>(i), pack_vector, &data) >= 0) {
                ++sent[i];
            }
        }
        return receiver.received.size() == senders * each;
    }));
    for (const Received &message : receiver.received) {
        const unsigned number = taken[message.id]++;
        BOOST_REQUIRE(message.data ==
                      pattern(length_of(number), message.id * each + number));
    }
    uint64_t parked = 0;
    for (const auto &node : nodes) {
        parked += node->metric("messages_parked");
        BOOST_CHECK_EQUAL(node->metric("rnr"), 0u);
    }
    BOOST_CHECK_GT(parked, 0u);
    BOOST_CHECK_LE(receiver.metric("byte_credit_outstanding"), 64u << 10);
}

// Short messages take no byte credit, however long they may be.
BOOST_AUTO_TEST_CASE(the_longest_short_messages)
{
    Device device;
    Node a(device, tight(device)), b(device, tight(device));
    be_peer_t *peer = a.connect(b);
    be_fabric_attr_t attr;
    be_fabric_query(a.fabric, &attr);
    const auto data = pattern(attr.max_short - 8, 1);
    for (unsigned i = 0; i < 1000; ++i) {
        BOOST_REQUIRE_EQUAL(push({&a, &b},
                                 [&]() -> ssize_t {
                                     return be_am_short(peer, 1, i, data.data(),
                                                        static_cast<unsigned>(
                                                                data.size()));
                                 }),
                            BE_OK);
    }
    BOOST_CHECK_EQUAL(be_am_short(peer, 1, 0, data.data(),
                                  static_cast<unsigned>(data.size() + 1)),
                      BE_ERR_INVALID);
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == 1000; }));
    BOOST_CHECK(a.failed.empty() && b.failed.empty());
}

// Credit comes in parts that are too little for the next one.
BOOST_AUTO_TEST_CASE(one_after_another_of_growing_size)
{
    Device device;
    Node a(device, tight(device)), b(device, tight(device));
    be_peer_t *peer = a.connect(b);
    unsigned sent   = 0;
    for (size_t power = 1; power <= 8192; power *= 2) {
        for (const size_t size : {power - 1, power, power + 1}) {
            if (size <= 8192) {
                BOOST_REQUIRE_EQUAL(send_bcopy({&a, &b}, peer, 1, pattern(size, 1)),
                                    BE_OK);
                ++sent;
            }
        }
    }
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == sent; }));
}

BOOST_AUTO_TEST_CASE(puts_and_gets_of_many_are_whole)
{
    constexpr unsigned senders = 4;
    constexpr size_t size      = 600000;
    Device device;
    Node target(device, tight(device));
    Memory remote(device, size * senders);
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<std::unique_ptr<Memory>> locals;
    std::vector<be_peer_t *> peers;
    int put, get, tiny;
    for (unsigned i = 0; i < senders; ++i) {
        nodes.push_back(std::make_unique<Node>(device, tight(device)));
        locals.push_back(std::make_unique<Memory>(device, 2 * size));
        const auto data = pattern(size, i);
        std::copy(data.begin(), data.end(), locals[i]->bytes.begin());
        peers.push_back(nodes[i]->connect(target));
    }
    const auto all = [&](void *completion) {
        return wait({&target}, [&] {
            bool done = true;
            for (const auto &node : nodes) {
                be_fabric_progress(node->fabric);
                done = done && node->completed.count(completion) != 0;
            }
            return done;
        });
    };
    for (unsigned i = 0; i < senders; ++i) {
        const be_sge_t sge{locals[i]->bytes.data(), size, locals[i]->mem.lkey};
        BOOST_REQUIRE_EQUAL(push({nodes[i].get(), &target},
                                 [&]() -> ssize_t {
                                     return be_put_zcopy(peers[i], &sge, 1,
                                                         remote.address(i * size),
                                                         remote.mem.rkey, &put);
                                 }),
                            BE_INPROGRESS);
    }
    BOOST_REQUIRE(all(&put));
    for (unsigned i = 0; i < senders; ++i) {
        const be_sge_t sge{locals[i]->bytes.data() + size, size, locals[i]->mem.lkey};
        BOOST_REQUIRE_EQUAL(be_get_zcopy(peers[i], &sge, 1, remote.address(i * size),
                                         remote.mem.rkey, &get),
                            BE_INPROGRESS);
    }
    BOOST_REQUIRE(all(&get));
    for (unsigned i = 0; i < senders; ++i) {
        BOOST_CHECK(std::equal(locals[i]->bytes.begin(), locals[i]->bytes.begin() + size,
                               locals[i]->bytes.begin() + size));
        BOOST_CHECK(locals[i]->bytes[0] == pattern(1, i)[0]);
    }
    // Short puts, as many as there is no credit for.
    for (unsigned round = 0; round < 500; ++round) {
        const uint64_t value = round * senders;
        BOOST_REQUIRE_EQUAL(push({nodes[0].get(), &target},
                                 [&]() -> ssize_t {
                                     return be_put_short(peers[0], &value, sizeof(value),
                                                         remote.address(8 * round),
                                                         remote.mem.rkey);
                                 }),
                            BE_OK);
    }
    const be_status_t flushed = be_peer_flush(peers[0], &tiny);
    BOOST_REQUIRE(flushed == BE_OK || flushed == BE_INPROGRESS);
    BOOST_REQUIRE(flushed == BE_OK || wait({nodes[0].get(), &target}, [&] {
                      return nodes[0]->completed.count(&tiny) != 0;
                  }));
    for (uint64_t round = 0; round < 500; ++round) {
        uint64_t value;
        std::memcpy(&value, remote.bytes.data() + 8 * round, 8);
        BOOST_REQUIRE_EQUAL(value, round * senders);
    }
    BOOST_REQUIRE(wait({&target, nodes[0].get(), nodes[1].get(), nodes[2].get(),
                        nodes[3].get()},
                       [&] { return target.metric("byte_credit_running") == 0; }));
}

// Those that come behind one that waits are taken too, whatever their size, and the credit for all of them comes
// together. Order is kept; what cannot be put off has to wait, and so does a flush, for no more than was there.
BOOST_AUTO_TEST_CASE(many_wait_together_in_order)
{
    Device device;
    Node a(device, tight(device)), b(device, tight(device));
    be_peer_t *peer = a.connect(b);
    int flushed;
    BOOST_REQUIRE_EQUAL(send_bcopy({&a, &b}, peer, 1, pattern(10, 1)), BE_OK);
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == 1; }));

    std::vector<std::vector<uint8_t>> sent{pattern(10, 1)};
    const auto send = [&](size_t length) {
        auto data            = pattern(length, static_cast<unsigned>(sent.size()));
        const ssize_t status = be_am_bcopy(peer, 1, pack_vector, &data);
        if (status >= 0) {
            sent.push_back(data);
        }
        return status;
    };
    while (a.metric("messages_parked") == 0) { // nobody takes in what arrives
        BOOST_REQUIRE_GE(send(8000), 0);
    }
    BOOST_CHECK_GE(send(40), 0);
    BOOST_CHECK_GE(send(8000), 0);
    BOOST_CHECK_EQUAL(be_am_short(peer, 1, 0, nullptr, 0), BE_ERR_NO_RESOURCE);
    BOOST_REQUIRE_EQUAL(be_peer_flush(peer, &flushed), BE_INPROGRESS);
    while (send(4000) >= 0) {
    }
    BOOST_CHECK_EQUAL(a.metric("messages_parked"), 8u);
    BOOST_REQUIRE(wait({&a, &b}, [&] {
        (void)send(sent.size() % 2 == 0 ? 6000 : 100); // there is always one that waits
        return a.completed.count(&flushed) != 0;
    }));
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == sent.size(); }));
    for (size_t i = 0; i < sent.size(); ++i) {
        BOOST_REQUIRE(b.received[i].data == sent[i]);
    }
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.metric("byte_credit_running") == 0; }));
}

// A fence orders what comes after it behind a message that is still waiting for credit.
BOOST_AUTO_TEST_CASE(fence_and_flush_count_what_waits_for_credit)
{
    Device device;
    Node a(device, tight(device)), b(device, tight(device));
    be_peer_t *peer = a.connect(b);
    Memory remote(device, 4096);
    int flushed;
    BOOST_REQUIRE_EQUAL(send_bcopy({&a, &b}, peer, 1, pattern(10, 1)), BE_OK);
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == 1; }));

    auto data     = pattern(8000, 2);
    unsigned sent = 1;
    for (; a.metric("messages_parked") == 0; ++sent) { // nobody takes in what arrives
        BOOST_REQUIRE_GE(be_am_bcopy(peer, 2, pack_vector, &data), 0);
    }
    be_peer_fence(peer);
    const uint64_t mark = 42;
    BOOST_CHECK_EQUAL(be_put_short(peer, &mark, sizeof(mark), remote.address(),
                                   remote.mem.rkey),
                      BE_ERR_NO_RESOURCE);
    BOOST_CHECK_EQUAL(be_am_short(peer, 3, 0, nullptr, 0), BE_ERR_NO_RESOURCE);
    BOOST_REQUIRE_EQUAL(be_peer_flush(peer, &flushed), BE_INPROGRESS);
    for (unsigned i = 0; i < 1000; ++i) {
        be_fabric_progress(a.fabric);
    }
    BOOST_CHECK(a.completed.empty());

    BOOST_REQUIRE(wait({&a, &b}, [&] { return a.completed.count(&flushed) != 0; }));
    BOOST_REQUIRE(wait({&a, &b}, [&] { return b.received.size() == sent; }));
    BOOST_REQUIRE_EQUAL(push({&a, &b},
                             [&]() -> ssize_t {
                                 return be_put_short(peer, &mark, sizeof(mark),
                                                     remote.address(), remote.mem.rkey);
                             }),
                        BE_OK);
}

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost_while_bytes_are_short)
{
    const char *wanted   = std::getenv("BE_TEST_SLEEP_MESSAGES");
    const unsigned total = wanted != nullptr ? static_cast<unsigned>(std::atoi(wanted)) :
                                               3000;
    Device device;
    Node sender(device, tight(device)), receiver(device, tight(device));
    be_peer_t *peer = sender.connect(receiver);
    std::atomic<bool> lost{false};
    std::atomic<unsigned> arrived{0};
    std::atomic<bool> done{false};

    std::thread other([&] {
        while (!done && !lost) {
            if (be_fabric_progress(receiver.fabric) == 0 &&
                !await_event(receiver, done ? 0 : 200) && arrived < total && !done) {
                continue; // it is the sender that finds out
            }
            arrived = static_cast<unsigned>(receiver.received.size());
        }
    });
    auto data     = pattern(8192, 1);
    unsigned sent = 0;
    while (sent < total && !lost) {
        const ssize_t result = be_am_bcopy(peer, 1, pack_vector, &data);
        if (result >= 0) {
            ++sent;
        } else if (result != BE_ERR_NO_RESOURCE ||
                   (be_fabric_progress(sender.fabric) == 0 && !await_event(sender))) {
            lost = true;
        }
    }
    while (arrived < sent && !lost) {
        if (be_fabric_progress(sender.fabric) == 0) {
            (void)await_event(sender, 10);
        }
    }
    done = true;
    other.join();
    BOOST_CHECK(!lost);
    BOOST_CHECK_EQUAL(arrived, total);
    BOOST_CHECK_GT(sender.metric("messages_parked"), 0u);
    BOOST_CHECK_GT(sender.metric("wakes"), 0u);
}

BOOST_AUTO_TEST_CASE(both_ends_must_agree)
{
    Device device;
    Node with(device, tight(device)), without(device, device.config());
    be_peer_t *peer = with.connect(without);
    BOOST_REQUIRE(wait({&with, &without}, [&] { return be_peer_status(peer) != BE_OK; }));
    BOOST_CHECK_EQUAL(be_peer_status(peer), BE_ERR_UNREACHABLE);
    BOOST_CHECK(std::string(be_peer_failure(peer)).find("UCX_BE_BYTE_CREDIT") !=
                std::string::npos);
}

// A peer that dies with everything waiting: each operation completes once, and what it held is free.
BOOST_AUTO_TEST_CASE(a_peer_that_goes_leaves_nothing_behind)
{
    Device device;
    Node a(device, tight(device)), c(device, tight(device));
    auto b          = std::make_unique<Node>(device, tight(device));
    be_peer_t *peer = a.connect(*b), *other = a.connect(c);
    Memory local(device, 1 << 20), remote(device, 1 << 20);
    int operations[20];
    BOOST_REQUIRE_EQUAL(send_bcopy({&a, b.get()}, peer, 1, pattern(10, 1)), BE_OK);
    const be_sge_t message{local.bytes.data(), 8000, local.mem.lkey};
    const be_sge_t bulk{local.bytes.data(), local.bytes.size(), local.mem.lkey};
    unsigned started = 0;
    while (started < 19 && be_am_zcopy(peer, 2, nullptr, 0, &message, 1,
                                       &operations[started]) == BE_INPROGRESS) {
        ++started;
    }
    BOOST_CHECK_GT(a.metric("messages_parked"), 0u);
    if (be_put_zcopy(peer, &bulk, 1, remote.address(), remote.mem.rkey,
                     &operations[started]) == BE_INPROGRESS) {
        ++started;
    }
    b->close();
    BOOST_REQUIRE(wait({&a, &c}, [&] { return a.completed.size() == started; }));
    BOOST_REQUIRE(wait({&a, &c}, [&] { return be_peer_status(peer) != BE_OK; }));
    for (unsigned i = 0; i < 20; ++i) {
        BOOST_REQUIRE_EQUAL(send_bcopy({&a, &c}, other, 1, pattern(8000, i)), BE_OK);
    }
    BOOST_REQUIRE(wait({&a, &c}, [&] { return c.received.size() == 20; }));
}

// If both ends held credit for puts that wait behind gets, neither might have any left to read with.
BOOST_AUTO_TEST_CASE(what_waits_behind_a_fence_asks_for_no_credit)
{
    constexpr size_t got = 128 << 10, put = 4000;
    constexpr unsigned puts = 60;
    struct Side {
        Side(Device &device) : node(device, tight(device)), memory(device, 1 << 20)
        {
        }

        Node node;
        Memory memory;
        be_peer_t *peer = nullptr;
        size_t wanted   = 0; // completions

        void *name()
        {
            return reinterpret_cast<void *>(++wanted);
        }
    };
    Device device;
    Side a(device), b(device);
    a.peer = a.node.connect(b.node);
    b.peer = b.node.connect(a.node);
    BOOST_REQUIRE(wait({&a.node, &b.node}, [&] {
        return be_peer_can_send(a.peer) != 0 && be_peer_can_send(b.peer) != 0;
    }));
    const auto bulk = [](Side &side) {
        uint64_t sum = 0;
        be_peer_metrics(
                side.peer,
                [](void *arg, const be_metric_t *metric) {
                    const std::string name = metric->name;
                    if (name == "bulk_queued" || name == "bulk_outstanding") {
                        *static_cast<uint64_t *>(arg) += metric->value;
                    }
                },
                &sum);
        return sum;
    };
    for (unsigned round = 0; round < 20; ++round) {
        for (Side *side : {&a, &b}) {
            const Side &other = side == &a ? b : a;
            const be_sge_t into{side->memory.bytes.data(), got, side->memory.mem.lkey};
            BOOST_REQUIRE_EQUAL(be_get_zcopy(side->peer, &into, 1,
                                             other.memory.address(got),
                                             other.memory.mem.rkey, side->name()),
                                BE_INPROGRESS);
            be_peer_fence(side->peer);
            for (unsigned i = 0; i < puts; ++i) {
                const be_sge_t from{side->memory.bytes.data() + 2 * got, put,
                                    side->memory.mem.lkey};
                BOOST_REQUIRE_EQUAL(be_put_zcopy(side->peer, &from, 1,
                                                 other.memory.address(3 * got + i * put),
                                                 other.memory.mem.rkey, side->name()),
                                    BE_INPROGRESS);
            }
            BOOST_CHECK_LE(bulk(*side), got);
        }
        BOOST_REQUIRE(wait({&a.node, &b.node}, [&] {
            return a.node.completed.size() == a.wanted &&
                   b.node.completed.size() == b.wanted;
        }));
        BOOST_CHECK_EQUAL(bulk(a) + bulk(b), 0);
    }
}
