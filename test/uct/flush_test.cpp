// SPDX-License-Identifier: BSD-3-Clause
//
// Flush of endpoints and interfaces, and giving endpoints up with operations under way.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 4;
constexpr size_t big    = size_t{8} << 20;

struct World {
    World()
    {
        target.on_am(am_id, [this](void *, size_t, unsigned) {
            ++received;
            return UCS_OK;
        });
    }

    uct_iov_t whole(const Memory &memory) const
    {
        uct_iov_t iov{};
        iov.buffer = memory.data();
        iov.length = memory.size();
        iov.memh   = memory.memh();
        iov.count  = 1;
        return iov;
    }

    Interface initiator;
    Interface target;
    Interfaces ifaces{&initiator, &target};
    uint64_t received = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(flush_and_cancel)

BOOST_AUTO_TEST_CASE(an_idle_endpoint_is_flushed)
{
    World world;
    Endpoint ep(world.initiator, world.target.address());
    BOOST_REQUIRE_EQUAL(retry(world.ifaces,
                              [&] {
                                  return uct_ep_am_short(ep.handle(), am_id, 1, nullptr,
                                                         0);
                              }),
                        UCS_OK);
    flush(world.ifaces, ep);
    BOOST_REQUIRE(progress_until(world.ifaces, [&] { return world.received == 1; }));

    BOOST_CHECK(progress_until(world.ifaces, [&] {
        return uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_LOCAL, nullptr) == UCS_OK;
    }));
    BOOST_CHECK(progress_until(world.ifaces, [&] {
        return uct_iface_flush(world.initiator.handle(), UCT_FLUSH_FLAG_LOCAL, nullptr) ==
               UCS_OK;
    }));
}

// Each flush completes once, and after what was before it.
BOOST_AUTO_TEST_CASE(flushes_among_transfers)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_ZCOPY)) {
        return;
    }
    Endpoint ep(world.initiator, world.target.address());
    Memory local(world.initiator, big), remote(world.target, big);
    RemoteKey key(world.initiator, remote.packed_key());
    std::vector<std::unique_ptr<Completion>> flushes;
    std::vector<size_t> puts_before;
    Completion puts;

    for (size_t i = 0; i < 16; ++i) {
        const uct_iov_t iov    = world.whole(local);
        uct_completion_t *comp = puts.use();
        const auto status      = puts.started(retry(world.ifaces, [&] {
            return uct_ep_put_zcopy(ep.handle(), &iov, 1, remote.remote(), key.rkey(),
                                         comp);
        }));
        BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));

        flushes.push_back(std::make_unique<Completion>());
        comp               = flushes.back()->use();
        const auto flushed = flushes.back()->started(retry(world.ifaces, [&] {
            return uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_LOCAL, comp);
        }));
        BOOST_REQUIRE((flushed == UCS_OK) || (flushed == UCS_INPROGRESS));
    }
    BOOST_REQUIRE(progress_until(world.ifaces, [&] {
        size_t done = 0;
        for (const auto &completion : flushes) {
            done += completion->done();
        }
        // 16 puts, 16 flushes, in pairs: a flush is never ahead of its put.
        BOOST_REQUIRE_LE(static_cast<int>(done), 16 - puts.outstanding());
        return done == flushes.size();
    }));
    BOOST_CHECK(puts.done());
    BOOST_CHECK_EQUAL(puts.status(), UCS_OK);
}

// After a cancel every operation is complete, exactly once, and the endpoint takes no more.
BOOST_AUTO_TEST_CASE(cancel_completes_everything)
{
    World world;
    if (!world.initiator.has(UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY)) {
        return;
    }
    Memory local(world.initiator, big), remote(world.target, big);
    RemoteKey key(world.initiator, remote.packed_key());
    Endpoint other(world.initiator, world.target.address());
    auto ep = std::make_unique<Endpoint>(world.initiator, world.target.address());
    flush(world.ifaces, *ep);

    const uct_iov_t iov = world.whole(local);
    Completion puts, gets, bcopy_gets, flushed, canceled;
    for (size_t i = 0; i < 8; ++i) {
        uct_completion_t *comp = puts.use();
        puts.started(retry(world.ifaces, [&] {
            return uct_ep_put_zcopy(ep->handle(), &iov, 1, remote.remote(), key.rkey(),
                                    comp);
        }));
        comp = gets.use();
        gets.started(retry(world.ifaces, [&] {
            return uct_ep_get_zcopy(ep->handle(), &iov, 1, remote.remote(), key.rkey(),
                                    comp);
        }));
        comp = bcopy_gets.use();
        bcopy_gets.started(retry(world.ifaces, [&] {
            return uct_ep_get_bcopy(
                    ep->handle(), [](void *, const void *, size_t) {}, nullptr, 64,
                    remote.remote(), key.rkey(), comp);
        }));
    }
    uct_completion_t *comp = flushed.use();
    flushed.started(uct_ep_flush(ep->handle(), UCT_FLUSH_FLAG_LOCAL, comp));

    comp              = canceled.use();
    const auto status = canceled.started(
            uct_ep_flush(ep->handle(), UCT_FLUSH_FLAG_CANCEL, comp));
    BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));
    BOOST_CHECK(flushed.done());
    BOOST_CHECK(bcopy_gets.done());
    BOOST_CHECK_EQUAL(uct_ep_am_short(ep->handle(), am_id, 1, nullptr, 0),
                      UCS_ERR_CANCELED);

    BOOST_REQUIRE(progress_until(world.ifaces, [&] { return canceled.done(); }));
    BOOST_CHECK(puts.done());
    BOOST_CHECK(gets.done());
    ep.reset();

    // The peer's other endpoint does not notice.
    BOOST_CHECK_EQUAL(retry(world.ifaces,
                            [&] {
                                return uct_ep_am_short(other.handle(), am_id, 1, nullptr,
                                                       0);
                            }),
                      UCS_OK);
    flush(world.ifaces, other);
    BOOST_CHECK(progress_until(world.ifaces, [&] { return world.received == 1; }));
    BOOST_CHECK_EQUAL(puts.outstanding(), 0);
    BOOST_CHECK_EQUAL(gets.outstanding(), 0);
    BOOST_CHECK_EQUAL(bcopy_gets.outstanding(), 0);
    BOOST_CHECK_EQUAL(flushed.outstanding(), 0);
}

// UCP destroys endpoints with operations under way when its worker goes: their completions run then,
// and never again.
BOOST_AUTO_TEST_CASE(destroying_an_endpoint_completes_its_operations)
{
    World world;
    if (!is_be()) {
        return; // UCX's shared memory and TCP are done with a put when it returns
    }
    Memory local(world.initiator, big), remote(world.target, big);
    RemoteKey key(world.initiator, remote.packed_key());
    Endpoint other(world.initiator, world.target.address());
    Endpoint ep(world.initiator, world.target.address());
    flush(world.ifaces, ep);

    const uct_iov_t iov = world.whole(local);
    Completion puts, flushed, canceled;
    for (size_t i = 0; i < 8; ++i) {
        uct_completion_t *comp = puts.use();
        puts.started(retry(world.ifaces, [&] {
            return uct_ep_put_zcopy(ep.handle(), &iov, 1, remote.remote(), key.rkey(),
                                    comp);
        }));
    }
    uct_completion_t *comp = flushed.use();
    flushed.started(uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_LOCAL, comp));
    comp = canceled.use();
    canceled.started(uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_CANCEL, comp));
    ep.destroy();
    BOOST_CHECK(puts.done());
    BOOST_CHECK(flushed.done());
    BOOST_CHECK(canceled.done());

    flush(world.ifaces, other);
    BOOST_CHECK_EQUAL(puts.outstanding(), 0);
    BOOST_CHECK_EQUAL(flushed.outstanding(), 0);
    BOOST_CHECK_EQUAL(canceled.outstanding(), 0);
}

BOOST_AUTO_TEST_SUITE_END()
