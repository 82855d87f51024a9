// SPDX-License-Identifier: BSD-3-Clause
//
// Two fabrics in two threads that sleep whenever they can, with so few receives that the sender is out of credit
// all the time: no wake-up is lost, and nobody spends processor time while nothing moves.
//
// BE_TEST_SLEEP_MESSAGES: how many messages, default 100000.

#define BOOST_TEST_MODULE sleep
#include "waiting.hpp"

#include "control/node.hpp"
#include "control/sink.hpp"
#include "engine/address.hpp"

#include <atomic>
#include <thread>

using namespace test;

namespace {

unsigned messages()
{
    const char *wanted = std::getenv("BE_TEST_SLEEP_MESSAGES");
    return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) :
                               100000;
}

struct Sleepers {
    explicit Sleepers(unsigned receives) :
        sender(device, config(receives)), receiver(device, config(receives))
    {
    }

    be_fabric_config_t config(unsigned receives) const
    {
        be_fabric_config_t result = device.config();
        result.rx_capacity        = receives;
        result.rx_max             = receives * 2;
        return result;
    }

    Device device;
    Node sender;
    Node receiver;
};

// A fabric that is connecting to us, so it says, and never does.
class Procrastinator : public be::control::Sink {
public:
    // At the address of a fabric of this process: they share a node.
    explicit Procrastinator(const Node &neighbour) : m_node(be::control::Node::acquire())
    {
        std::array<uint8_t, BE_FABRIC_ADDR_LEN> bytes;
        be_fabric_address(neighbour.fabric, bytes.data());
        m_address = be::engine::FabricAddress::decode(bytes).value();
        m_address.identity.fabric_id ^= 1;
        m_node->attach(m_address.identity, this);
    }

    ~Procrastinator()
    {
        m_node->detach(m_address.identity.fabric_id);
    }

    be_peer_t *let_connect(Node &node) const
    {
        std::array<uint8_t, BE_FABRIC_ADDR_LEN> bytes;
        m_address.encode(bytes);
        be_peer_t *peer = nullptr;
        BOOST_REQUIRE_EQUAL(be_peer_get(node.fabric, bytes.data(), &peer), BE_OK);
        node.peers.push_back(peer);
        return peer;
    }

    void
    on_connect(be::control::ConnectionId id, const be::control::ConnectInfo &) override
    {
        m_node->refuse(id, be::control::Reason::duplicate, "ours is on its way");
    }
    void on_accept(be::control::ConnectionId, const be::control::ConnectInfo &) override
    {
    }
    void on_ready(be::control::ConnectionId) override
    {
    }
    void on_closed(be::control::ConnectionId, be::control::Reason,
                   const std::string &) override
    {
    }

private:
    const std::shared_ptr<be::control::Node> m_node;
    be::engine::FabricAddress m_address;
};

} // namespace

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost_while_credit_is_short)
{
    Sleepers pair(2);
    const unsigned total = messages();
    be_peer_t *peer      = pair.sender.connect(pair.receiver);
    std::atomic<bool> lost{false};
    std::atomic<unsigned> arrived{0};

    std::thread receiver([&] {
        while (arrived < total && !lost) {
            if (be_fabric_progress(pair.receiver.fabric) == 0 &&
                !await_event(pair.receiver)) {
                lost = true;
            }
            arrived = static_cast<unsigned>(pair.receiver.received.size());
        }
    });
    auto data     = pattern(40, 1);
    unsigned sent = 0;
    while (sent < total && !lost) {
        const ssize_t result = be_am_bcopy(peer, 1, pack_vector, &data);
        if (result >= 0) {
            ++sent;
        } else if (result != BE_ERR_NO_RESOURCE ||
                   (be_fabric_progress(pair.sender.fabric) == 0 &&
                    !await_event(pair.sender))) {
            lost = true;
        }
    }
    while (arrived < sent && !lost) { // what the receiver needs of us until it has all
        be_fabric_progress(pair.sender.fabric);
        std::this_thread::yield();
    }
    receiver.join();
    BOOST_TEST_MESSAGE(sent << " sent, " << arrived << " arrived");
    BOOST_CHECK(!lost);
    BOOST_CHECK_EQUAL(arrived, total);
    BOOST_CHECK_EQUAL(pair.sender.metric("rnr"), 0u);
}

BOOST_AUTO_TEST_CASE(a_sleeper_uses_no_processor_time)
{
    Sleepers pair(64);
    be_peer_t *peer = pair.sender.connect(pair.receiver);
    BOOST_REQUIRE_EQUAL(send_bcopy({&pair.sender, &pair.receiver}, peer, 1,
                                   pattern(9, 1)),
                        BE_OK);
    BOOST_REQUIRE(wait({&pair.sender, &pair.receiver},
                       [&] { return pair.receiver.received.size() == 1; }));
    // A little may still be under way: credit cells, and what the control channel has to say.
    while (await_event(pair.sender, 300)) {
        be_fabric_progress(pair.sender.fabric);
    }
    const double before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    BOOST_CHECK(!await_event(pair.sender, 500));
    BOOST_CHECK_LT(cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before, 0.05);
}

// The fabric looks at its queues also for reasons of its own (silence.cpp, every third of a second with these timeouts),
// in the middle of whatever it is called for. What it finds then counts as well: who asks to sleep over it waits for ever.
BOOST_AUTO_TEST_CASE(progress_counts_what_it_told)
{
    Device device;
    be_fabric_config_t config = device.config();
    config.timeout            = 1;
    config.retry_count        = 0;
    Node reader(device, config);
    Node target(device, config);
    be_peer_t *peer = reader.connect(target);
    be_mem_t memory{};
    BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, 4096, &memory), BE_OK);
    const auto remote = reinterpret_cast<uint64_t>(memory.address);

    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    size_t issued = 0, kept_from_us = 0;
    while (std::chrono::steady_clock::now() < end) {
        if (issued == reader.completed.size() &&
            be_get_bcopy(peer, nullptr, nullptr, 8, remote, memory.rkey,
                         reinterpret_cast<void *>(issued + 1)) == BE_INPROGRESS) {
            ++issued;
        }
        const size_t before   = reader.completed.size();
        const unsigned events = be_fabric_progress(reader.fabric);
        kept_from_us += events == 0 && reader.completed.size() != before;
        be_fabric_progress(target.fabric);
    }
    BOOST_REQUIRE(
            wait({&reader, &target}, [&] { return reader.completed.size() == issued; }));
    BOOST_TEST_MESSAGE(issued << " reads");
    BOOST_CHECK_EQUAL(kept_from_us, 0u);
    be_mem_free(device.md, &memory);
}

// Both ends begin at once, and the one whose connection is kept dies before it has come: no event says so.
BOOST_AUTO_TEST_CASE(a_sleeper_gives_up_a_connect_that_never_comes)
{
    Device device;
    be_fabric_config_t config = device.config();
    config.connect_timeout    = 0.3;
    Node node(device, config);
    const Procrastinator other(node);
    be_peer_t *const peer = other.let_connect(node);
    auto data             = pattern(9, 1);
    bool woken            = true;
    while (woken && be_am_bcopy(peer, 1, pack_vector, &data) == BE_ERR_NO_RESOURCE) {
        woken = be_fabric_progress(node.fabric) != 0 || await_event(node);
    }
    BOOST_CHECK(woken);
}
