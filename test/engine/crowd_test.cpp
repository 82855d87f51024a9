// SPDX-License-Identifier: BSD-3-Clause
//
// More peers than receives, and more to say to them than there are entries of the completion queue: all are served, and
// memory for receives goes by use, not by the number of peers.

#define BOOST_TEST_MODULE crowd
#include "world.hpp"

#include <cstring>

using namespace test;

namespace {

// A server and its clients, all of which send as soon as they can.
class Crowd {
public:
    // `sends` that the server may have outstanding; 0: the default.
    Crowd(unsigned receives, unsigned peers, unsigned sends) : sent(peers)
    {
        config                = device.config();
        config.tx_completions = sends != 0 ? sends : config.tx_completions;
        config.rx_capacity    = receives;
        config.rx_max         = 4 * receives;
        server                = std::make_unique<Node>(device, config);
        for (unsigned i = 0; i < peers; ++i) {
            clients.push_back(std::make_unique<Node>(device, device.config()));
            clients.back()->connect(*server);
        }
    }

    // Until the server has `each` from every client.
    void send(unsigned each)
    {
        BOOST_REQUIRE(wait({server.get()}, [&] {
            for (unsigned i = 0; i < clients.size(); ++i) {
                be_fabric_progress(clients[i]->fabric);
                if (sent[i] < each &&
                    be_am_short(clients[i]->peers[0], 1, uint64_t{i} << 16 | sent[i],
                                nullptr, 0) == BE_OK) {
                    ++sent[i];
                }
            }
            most = std::max(most, server->metric("sends_outstanding"));
            return server->received.size() == clients.size() * each;
        }));
        BOOST_CHECK_LE(server->metric("receive_buffers_used"), config.rx_capacity);
    }

    // Nobody was lost, and nothing out of its order.
    void check() const
    {
        BOOST_CHECK_EQUAL(server->metric("peers"), clients.size());
        BOOST_CHECK_EQUAL(server->metric("paths_lost"), 0u);
        BOOST_CHECK_LE(most, config.tx_completions);
        std::vector<uint64_t> next(clients.size());
        for (const Received &one : server->received) {
            uint64_t header;
            BOOST_REQUIRE_EQUAL(one.data.size(), sizeof(header));
            std::memcpy(&header, one.data.data(), sizeof(header));
            BOOST_REQUIRE_LT(header >> 16, clients.size());
            BOOST_REQUIRE_EQUAL(header & 0xffff, next[header >> 16]++);
        }
        for (const auto &client : clients) {
            BOOST_CHECK_EQUAL(client->metric("rnr"), 0u);
            BOOST_CHECK(client->failed.empty());
        }
    }

    Device device;
    be_fabric_config_t config{}; // of the server
    std::unique_ptr<Node> server;
    std::vector<std::unique_ptr<Node>> clients;
    std::vector<unsigned> sent;
    uint64_t most = 0; // sends of the server that were outstanding
};

} // namespace

BOOST_AUTO_TEST_CASE(many_peers_share_the_receives_there_are)
{
    struct {
        unsigned receives, peers, sends;
    } const cases[] = {{16, 40, 0}, {64, 60, 0}, {2, 20, 0}, {16, 40, 64}, {16, 40, 16}};

    for (const auto &[receives, peers, sends] : cases) {
        constexpr unsigned messages = 400;
        Crowd crowd(receives, peers, sends);

        crowd.send(1); // so that all stand there; then all that there are
        crowd.send(messages);
        crowd.check();
        BOOST_CHECK_LE(crowd.server->metric("credit_requests_received"),
                       uint64_t{peers} * messages);
        // Few, unless the machine is so slow that credit is left lying: then still less than there are messages.
        BOOST_CHECK_LE(crowd.server->metric("credit_revokes"),
                       uint64_t{peers} * messages / 2);
    }
}

// The send queues together are deeper than the completion queue: who finds it full is refused, and not lost; the
// answers to those who want to send have room of their own.
BOOST_AUTO_TEST_CASE(a_full_completion_queue_refuses)
{
    constexpr unsigned peers = 40;
    Crowd crowd(16, peers, 512);
    const unsigned most = crowd.config.tx_completions;
    be_mem_t memory{};
    BOOST_REQUIRE_EQUAL(be_mem_alloc(crowd.device.md, 4096, &memory), BE_OK);
    crowd.send(1);
    for (const auto &client : crowd.clients) {
        crowd.server->connect(*client);
    }
    const auto put = [&](be_peer_t *peer) {
        const uint64_t value = 1;
        return be_put_short(peer, &value, sizeof(value),
                            reinterpret_cast<uintptr_t>(memory.address), memory.rkey);
    };
    const auto settle = [&] {
        BOOST_REQUIRE(wait({crowd.server.get()}, [&] {
            for (const auto &client : crowd.clients) {
                be_fabric_progress(client->fabric);
            }
            return be_fabric_flush(crowd.server->fabric, nullptr) == BE_OK &&
                   crowd.server->metric("sends_outstanding") == 0;
        }));
    };
    settle();

    for (be_peer_t *peer : crowd.server->peers) { // without progress
        be_status_t status;
        do {
            status = put(peer);
        } while (status == BE_OK);
        BOOST_REQUIRE_EQUAL(status, BE_ERR_NO_RESOURCE);
    }
    BOOST_CHECK_GT(crowd.server->metric("sends_outstanding"), most / 2);
    BOOST_CHECK_GT(crowd.server->metric("queue_full"), 0u);
    BOOST_CHECK_LE(crowd.server->metric("sends_outstanding"), most);
    crowd.send(40); // at once
    settle();
    for (be_peer_t *peer : crowd.server->peers) {
        BOOST_CHECK_EQUAL(put(peer), BE_OK);
    }
    settle();
    crowd.check();
    be_mem_free(crowd.device.md, &memory);
}
