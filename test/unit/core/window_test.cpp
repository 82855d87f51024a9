// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

#include "core/window.hpp"

using namespace be::core;

namespace {

constexpr WindowConfig small = {.port = 100, .peer = 60, .quantum = 10};

bool refuses(const WindowConfig &config, const std::string &words)
{
    try {
        PortWindow window(config);
    } catch (const std::invalid_argument &error) {
        return std::string(error.what()).find(words) != std::string::npos;
    }
    return false;
}

/* Admits whole quanta until refused; returns the bytes. */
uint64_t fill(PortWindow &port, PeerWindow &peer)
{
    uint64_t bytes = 0;

    while (uint32_t piece = port.admit(peer, 1000)) {
        bytes += piece;
    }
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_SUITE(window)

BOOST_AUTO_TEST_CASE(bad_configurations_name_the_value)
{
    BOOST_TEST(refuses({.port = 100, .peer = 60, .quantum = 0}, "quantum is 0"));
    BOOST_TEST(refuses({.port = 19, .peer = 60, .quantum = 10}, "port window is 19"));
    BOOST_TEST(refuses({.port = 100, .peer = 9, .quantum = 10}, "peer window is 9"));
}

BOOST_AUTO_TEST_CASE(one_peer_fills_its_window)
{
    PortWindow port(small);
    PeerWindow peer;

    port.set_active(1);
    BOOST_TEST(fill(port, peer) == 60u);
    BOOST_TEST(peer.outstanding() == 60u);
    BOOST_TEST(port.outstanding() == 60u);
    BOOST_TEST(port.port_has_room(1000));
}

/* Whoever comes second finds a quantum at least, though the first completes nothing. */
BOOST_AUTO_TEST_CASE(a_lone_peer_leaves_a_quantum)
{
    PortWindow port({.port = 100, .peer = 1000, .quantum = 10});
    PeerWindow first, second;

    port.set_active(1);
    BOOST_TEST(port.config().peer == 90u);
    BOOST_TEST(fill(port, first) == 90u);
    port.set_active(2);
    BOOST_TEST(port.admit(second, 1000) == 10u);
    BOOST_TEST(port.admit(second, 1000) == 0u);
}

BOOST_AUTO_TEST_CASE(several_peers_share_the_port)
{
    PortWindow port(small);
    std::vector<PeerWindow> peers(4);

    port.set_active(4);
    BOOST_TEST(port.peer_cap() == 25u);
    for (PeerWindow &peer : peers) {
        BOOST_TEST(fill(port, peer) == 20u); /* whole quanta */
    }
    port.set_active(50);
    BOOST_TEST(port.peer_cap() == 10u); /* a quantum at least */
}

BOOST_AUTO_TEST_CASE(the_port_is_the_limit_of_many)
{
    PortWindow port(small);
    std::vector<PeerWindow> peers(20);
    uint64_t sum = 0;

    port.set_active(20);
    for (PeerWindow &peer : peers) {
        sum += fill(port, peer);
    }
    BOOST_TEST(sum == 100u);
    BOOST_TEST(!port.port_has_room(1));
}

BOOST_AUTO_TEST_CASE(pieces_are_whole_or_the_rest)
{
    PortWindow port(small);
    PeerWindow peer;

    port.set_active(1);
    BOOST_TEST(port.admit(peer, 0) == 0u);
    BOOST_TEST(port.admit(peer, 3) == 3u);
    BOOST_TEST(fill(port, peer) == 50u); /* 7 bytes are left */
    BOOST_TEST(port.admit(peer, 8) == 0u); /* more than is left */
    BOOST_TEST(port.admit(peer, 7) == 7u); /* fits exactly */
    BOOST_TEST(port.admit(peer, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(complete_gives_room_back)
{
    PortWindow port(small);
    PeerWindow first, second;

    port.set_active(2);
    fill(port, first);
    fill(port, second);
    BOOST_TEST(port.outstanding() == 100u);
    BOOST_TEST(port.complete(first, 15) == 15u);
    BOOST_TEST(port.outstanding() == 85u);
    BOOST_TEST(port.complete(first, 1000) == 35u); /* not more than there is */
    BOOST_TEST(port.outstanding() == 50u);
    BOOST_TEST(first.outstanding() == 0u);
}

/* Bounds hold and sums agree whatever happens. */
BOOST_AUTO_TEST_CASE(random_operations)
{
    std::mt19937 random(5);
    PortWindow port({.port = 1000, .peer = 300, .quantum = 64});
    std::vector<PeerWindow> peers(8);

    for (int i = 0; i < 50000; ++i) {
        PeerWindow &peer = peers[random() % peers.size()];
        uint64_t sum     = 0;

        port.set_active(random() % 9);
        if (random() % 2 == 0) {
            uint64_t want   = random() % 200;
            uint64_t before = peer.outstanding();
            uint32_t piece  = port.admit(peer, want);

            BOOST_REQUIRE((piece == 0 || piece == std::min<uint64_t>(want, 64)));
            BOOST_REQUIRE(peer.outstanding() == before + piece);
            BOOST_REQUIRE((piece == 0 || peer.outstanding() <= port.peer_cap()));
        } else {
            port.complete(peer, random() % 200);
        }
        for (const PeerWindow &each : peers) {
            BOOST_REQUIRE(each.outstanding() <= 300u);
            sum += each.outstanding();
        }
        BOOST_REQUIRE(sum == port.outstanding());
        BOOST_REQUIRE(sum <= 1000u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
