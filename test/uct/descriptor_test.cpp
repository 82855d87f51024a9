// SPDX-License-Identifier: BSD-3-Clause
//
// Received payloads that the user keeps, headroom in front of them, and their alignment.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <deque>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 9;

struct Kept {
    uint8_t *data;
    size_t length;
    uint64_t seed;
};

void send(const Interfaces &ifaces, Endpoint &ep, uint64_t seed, size_t length)
{
    const std::vector<uint8_t> message = pattern(length, seed);
    Packed packed{message.data(), message.size()};
    BOOST_REQUIRE_EQUAL(retry_bcopy(ifaces,
                                    [&] {
                                        return uct_ep_am_bcopy(ep.handle(), am_id, pack,
                                                               &packed, 0);
                                    }),
                        static_cast<ssize_t>(length));
}

} // namespace

BOOST_AUTO_TEST_SUITE(descriptor)

// Far more messages are kept than there are receive buffers to start with: the transport replaces
// them up to its limit, beyond that it stops offering them, and never loses or overwrites one.
BOOST_AUTO_TEST_CASE(kept_payloads_stay_intact)
{
    constexpr size_t headroom = 128;
    constexpr size_t messages = 3000;
    Options options;
    options.rx_headroom = headroom;
    if (is_be()) {
        options.config = {{"RX_QUEUE_LEN", "256"}, {"RX_MAX", "1024"}};
    }
    Interface sender;
    Interface receiver(options);
    Endpoint ep(sender, receiver.address());
    std::deque<Kept> kept;
    uint64_t next = 0, wrong = 0, offered = 0;

    receiver.on_am(am_id, [&](void *data, size_t length, unsigned flags) {
        auto *bytes         = static_cast<uint8_t *>(data);
        const uint64_t seed = next++;
        wrong += !matches(bytes, length, seed);
        if (!(flags & UCT_CB_PARAM_FLAG_DESC)) {
            return UCS_OK;
        }
        ++offered;
        std::memset(bytes - headroom, 0xee, headroom); // ours to use
        kept.push_back({bytes, length, seed});
        return UCS_INPROGRESS;
    });

    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < messages; ++i) {
            const uint64_t seed = round * messages + i;
            send({&sender, &receiver}, ep, seed, 8 + (seed * 31) % 1000);
        }
        BOOST_REQUIRE(progress_until({&sender, &receiver},
                                     [&] { return next == (round + 1) * messages; }));
        BOOST_CHECK_EQUAL(wrong, 0u);
        if (is_be()) {
            BOOST_CHECK_GT(offered, 256u);
            BOOST_CHECK_LE(kept.size(), 1024u);
        }

        while (!kept.empty()) {
            const Kept &payload = kept.front();
            BOOST_REQUIRE(matches(payload.data, payload.length, payload.seed));
            for (size_t k = 1; k <= headroom; ++k) {
                BOOST_REQUIRE_EQUAL(payload.data[-static_cast<ptrdiff_t>(k)], 0xee);
            }
            uct_iface_release_desc(payload.data - headroom);
            kept.pop_front();
        }
    }
    BOOST_TEST_MESSAGE(offered << " of " << next << " payloads were offered");
}

BOOST_AUTO_TEST_CASE(released_inside_the_callback)
{
    Interface sender, receiver;
    Endpoint ep(sender, receiver.address());
    uint64_t next = 0, wrong = 0;
    receiver.on_am(am_id, [&](void *data, size_t length, unsigned flags) {
        wrong += !matches(static_cast<uint8_t *>(data), length, next++);
        if (is_be() && (flags & UCT_CB_PARAM_FLAG_DESC)) {
            uct_iface_release_desc(data);
            return UCS_INPROGRESS;
        }
        return UCS_OK;
    });
    for (uint64_t i = 0; i < 20000; ++i) {
        send({&sender, &receiver}, ep, i, 16 + i % 100);
    }
    BOOST_REQUIRE(progress_until({&sender, &receiver}, [&] { return next == 20000; }));
    BOOST_CHECK_EQUAL(wrong, 0u);
}

BOOST_AUTO_TEST_CASE(alignment)
{
    for (const size_t align : {8, 64, 512, 4096}) {
        for (const size_t offset : {0, 8, 24, 48}) {
            Options options;
            options.am_alignment    = align;
            options.am_align_offset = offset;
            options.rx_headroom     = 40;
            Interface sender;
            Interface receiver(options);
            Endpoint ep(sender, receiver.address());
            uint64_t next = 0, misaligned = 0, wrong = 0;
            receiver.on_am(am_id, [&](void *data, size_t length, unsigned flags) {
                wrong += !matches(static_cast<uint8_t *>(data), length, next++);
                if (flags & UCT_CB_PARAM_FLAG_DESC) {
                    misaligned += ((reinterpret_cast<uintptr_t>(data) + offset) %
                                   align) != 0;
                }
                return UCS_OK;
            });
            for (uint64_t i = 0; i < 100; ++i) {
                send({&sender, &receiver}, ep, i, 8 + i * 9);
            }
            BOOST_REQUIRE(
                    progress_until({&sender, &receiver}, [&] { return next == 100; }));
            BOOST_CHECK_EQUAL(wrong, 0u);
            BOOST_CHECK_MESSAGE(misaligned == 0,
                                "alignment " << align << " at offset " << offset << ": "
                                             << misaligned << " misaligned");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
