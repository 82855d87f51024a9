// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets of every kind: sizes around each limit, odd addresses, pieces, empty ones. Each
// transfer is checked together with the bytes around it, which must stay as they were.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>

using namespace uct_test;

namespace {

constexpr size_t margin   = 64;
constexpr size_t big_size = (size_t{4} << 20) + 4096;

struct World {
    Interface initiator;
    Interface target;
    Endpoint ep{initiator, target.address()};
    Memory local{initiator, big_size};
    Memory remote{target, big_size};
    RemoteKey key{initiator, remote.packed_key()};
    Interfaces ifaces{&initiator, &target};
    uint64_t seed = 1;
};

std::vector<size_t> sizes(size_t largest)
{
    std::vector<size_t> result{0,       1,
                               7,       8,
                               9,       63,
                               64,      65,
                               255,     1000,
                               4095,    4096,
                               4097,    8191,
                               8192,    8193,
                               65535,   65536,
                               65537,   (1 << 20) - 1,
                               1 << 20, (1 << 20) + 1,
                               4 << 20};
    result.push_back(largest);
    std::erase_if(result,
                  [&](size_t size) { return (size > largest) || (size > (4 << 20)); });
    return result;
}

// Prepares `source` with a pattern and `destination` with another; after `transfer` the destination has
// the source's bytes and its margins are untouched.
template<typename Transfer>
void check_transfer(World &world, uint8_t *source, uint8_t *destination, size_t size,
                    Transfer transfer)
{
    const uint64_t seed = ++world.seed;
    fill(source, size, seed);
    std::memset(destination - margin, 0xa5, size + 2 * margin);
    transfer();
    flush(world.ifaces, world.ep);
    BOOST_REQUIRE_MESSAGE(matches(destination, size, seed),
                          "content of " << size << " bytes");
    for (size_t i = 0; i < margin; ++i) {
        BOOST_REQUIRE_EQUAL(destination[size + i], 0xa5);
        BOOST_REQUIRE_EQUAL(destination[-1 - static_cast<ptrdiff_t>(i)], 0xa5);
    }
}

// `pieces` entries over a buffer, one of them empty when there are more than two.
std::vector<uct_iov_t>
split(const Memory &memory, uint8_t *buffer, size_t size, size_t pieces)
{
    std::vector<uct_iov_t> iov(pieces);
    size_t offset = 0;
    for (size_t k = 0; k < pieces; ++k) {
        iov[k]        = {};
        iov[k].buffer = buffer + offset;
        iov[k].memh   = memory.memh();
        iov[k].count  = 1;
        iov[k].length = (k + 1 == pieces) ? size - offset :
                                            ((k == 1) ? 0 : size / pieces);
        offset += iov[k].length;
    }
    return iov;
}

void complete(World &world, Completion &completion, ucs_status_t status)
{
    status = completion.started(status);
    BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));
    BOOST_REQUIRE(progress_until(world.ifaces, [&] { return completion.done(); }));
    BOOST_REQUIRE_EQUAL(completion.status(), UCS_OK);
}

} // namespace

BOOST_AUTO_TEST_SUITE(rma)

BOOST_AUTO_TEST_CASE(put_short)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_SHORT)) {
        return;
    }
    for (const size_t size :
         sizes(std::min<size_t>(world.initiator.attr().cap.put.max_short, 65536))) {
        for (const size_t offset : {64, 65, 71}) {
            uint8_t *source = world.local.data() + margin + offset % 5;
            check_transfer(world, source, world.remote.data() + offset, size, [&] {
                BOOST_REQUIRE_EQUAL(retry(world.ifaces,
                                          [&] {
                                              return uct_ep_put_short(world.ep.handle(),
                                                                      source, size,
                                                                      world.remote.remote(
                                                                              offset),
                                                                      world.key.rkey());
                                          }),
                                    UCS_OK);
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(put_bcopy)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_BCOPY)) {
        return;
    }
    for (const size_t size :
         sizes(std::min<size_t>(world.initiator.attr().cap.put.max_bcopy, 65536))) {
        for (const size_t offset : {64, 67}) {
            uint8_t *source = world.local.data() + margin;
            check_transfer(world, source, world.remote.data() + offset, size, [&] {
                Packed packed{source, size};
                BOOST_REQUIRE_EQUAL(retry_bcopy(world.ifaces,
                                                [&] {
                                                    return uct_ep_put_bcopy(
                                                            world.ep.handle(), pack,
                                                            &packed,
                                                            world.remote.remote(offset),
                                                            world.key.rkey());
                                                }),
                                    static_cast<ssize_t>(size));
                if (is_be()) {
                    BOOST_REQUIRE_EQUAL(packed.calls, 1);
                }
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(put_zcopy)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_ZCOPY)) {
        return;
    }
    const auto &cap = world.initiator.attr().cap.put;
    for (const size_t size : sizes(cap.max_zcopy)) {
        for (const size_t pieces : {size_t{1}, size_t{3}, cap.max_iov}) {
            uint8_t *source = world.local.data() + margin + pieces;
            check_transfer(world, source, world.remote.data() + margin + 1, size, [&] {
                const auto iov = split(world.local, source, size,
                                       std::min(pieces, cap.max_iov));
                Completion completion;
                uct_completion_t *comp = completion.use();
                complete(world, completion, retry(world.ifaces, [&] {
                             return uct_ep_put_zcopy(world.ep.handle(), iov.data(),
                                                     iov.size(),
                                                     world.remote.remote(margin + 1),
                                                     world.key.rkey(), comp);
                         }));
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(get_bcopy)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_GET_BCOPY)) {
        return;
    }
    const auto unpack = [](void *arg, const void *data, size_t length) {
        auto *result      = static_cast<std::vector<uint8_t> *>(arg);
        const auto *bytes = static_cast<const uint8_t *>(data);
        result->insert(result->end(), bytes, bytes + length);
    };
    for (const size_t size :
         sizes(std::min<size_t>(world.initiator.attr().cap.get.max_bcopy, 65536))) {
        for (const size_t offset : {64, 69}) {
            std::vector<uint8_t> result;
            const uint64_t seed = ++world.seed;
            fill(world.remote.data() + offset, size, seed);
            Completion completion;
            uct_completion_t *comp = completion.use();
            complete(world, completion, retry(world.ifaces, [&] {
                         return uct_ep_get_bcopy(world.ep.handle(), unpack, &result, size,
                                                 world.remote.remote(offset),
                                                 world.key.rkey(), comp);
                     }));
            BOOST_REQUIRE_EQUAL(result.size(), size);
            BOOST_REQUIRE(matches(result.data(), size, seed));
        }
    }
}

BOOST_AUTO_TEST_CASE(get_zcopy)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_GET_ZCOPY)) {
        return;
    }
    const auto &cap = world.initiator.attr().cap.get;
    for (const size_t size : sizes(cap.max_zcopy)) {
        for (const size_t pieces : {size_t{1}, size_t{3}, cap.max_iov}) {
            uint8_t *destination = world.local.data() + margin + pieces;
            check_transfer(world, world.remote.data() + margin + 3, destination, size, [&] {
                const auto iov = split(world.local, destination, size,
                                       std::min(pieces, cap.max_iov));
                Completion completion;
                uct_completion_t *comp = completion.use();
                complete(world, completion, retry(world.ifaces, [&] {
                             return uct_ep_get_zcopy(world.ep.handle(), iov.data(),
                                                     iov.size(),
                                                     world.remote.remote(margin + 3),
                                                     world.key.rkey(), comp);
                         }));
            });
        }
    }
}

// Hundreds of transfers under way at once, disjoint, in both directions.
BOOST_AUTO_TEST_CASE(many_at_once)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY)) {
        return;
    }
    constexpr size_t piece = 12345, count = 300;
    Memory landing(world.initiator, piece * count);
    Completion puts, gets;

    fill(world.local.data(), piece * count, 77);
    for (size_t i = 0; i < count; ++i) {
        const auto iov = split(world.local, world.local.data() + i * piece, piece, 1);
        uct_completion_t *comp = puts.use();
        const auto status      = puts.started(retry(world.ifaces, [&] {
            return uct_ep_put_zcopy(world.ep.handle(), iov.data(), 1,
                                         world.remote.remote(i * piece), world.key.rkey(),
                                         comp);
        }));
        BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));
    }
    flush(world.ifaces, world.ep);
    BOOST_CHECK(puts.done());
    BOOST_REQUIRE(matches(world.remote.data(), piece * count, 77));

    for (size_t i = 0; i < count; ++i) {
        const auto iov         = split(landing, landing.data() + i * piece, piece, 1);
        uct_completion_t *comp = gets.use();
        const auto status      = gets.started(retry(world.ifaces, [&] {
            return uct_ep_get_zcopy(world.ep.handle(), iov.data(), 1,
                                         world.remote.remote(i * piece), world.key.rkey(),
                                         comp);
        }));
        BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));
    }
    BOOST_REQUIRE(progress_until(world.ifaces, [&] { return gets.done(); }));
    BOOST_CHECK_EQUAL(gets.status(), UCS_OK);
    BOOST_CHECK(matches(landing.data(), piece * count, 77));
}

// A message after a fence finds the data of the puts before it.
BOOST_AUTO_TEST_CASE(fence_orders_messages_behind_puts)
{
    World world;
    if (!is_be()) {
        return; // UCT leaves the order between kinds of operations open
    }
    constexpr uint8_t am_id = 3;
    constexpr size_t length = 100000;
    uint64_t seen = 0, stale = 0;
    world.target.on_am(am_id, [&](void *data, size_t, unsigned) {
        uint64_t seed;
        std::memcpy(&seed, data, sizeof(seed));
        stale += !matches(world.remote.data(), length, seed);
        ++seen;
        return UCS_OK;
    });
    for (uint64_t round = 1; round <= 50; ++round) {
        fill(world.local.data(), length, round);
        const auto iov = split(world.local, world.local.data(), length, 1);
        Completion completion;
        uct_completion_t *comp = completion.use();
        completion.started(retry(world.ifaces, [&] {
            return uct_ep_put_zcopy(world.ep.handle(), iov.data(), 1,
                                    world.remote.remote(), world.key.rkey(), comp);
        }));
        BOOST_REQUIRE_EQUAL(uct_ep_fence(world.ep.handle(), 0), UCS_OK);
        BOOST_REQUIRE_EQUAL(retry(world.ifaces,
                                  [&] {
                                      return uct_ep_am_short(world.ep.handle(), am_id,
                                                             round, nullptr, 0);
                                  }),
                            UCS_OK);
        BOOST_REQUIRE(progress_until(world.ifaces, [&] {
            return (seen == round) && completion.done();
        }));
    }
    BOOST_CHECK_EQUAL(stale, 0u);
}

BOOST_AUTO_TEST_SUITE_END()
