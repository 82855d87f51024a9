// SPDX-License-Identifier: BSD-3-Clause
//
// What the hot path must not do: allocate, or cost more the more peers there are.

#include "flow_fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> allocations{0};

} // namespace

void *operator new(std::size_t size)
{
    ++allocations;
    if (void *memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

using namespace be::core;
using namespace be::test;

namespace {

constexpr uint32_t peers = 10'000;

FlowConfig config()
{
    FlowConfig config;

    config.pool.max_capacity = 16384;
    config.pool.revoke       = true;
    config.bytes             = BytePoolConfig::derive(100, 11'400);
    config.window            = {.port = 1 << 20, .peer = 1 << 20, .quantum = 16384};
    return config;
}

/* All that happens between two hosts, for one of many peers, with the time going on so
 * that peers turn idle, late and active again. Both ends are the same flow: what it
 * grants comes back as what it was granted. */
void traffic(FlowFixture &f, const std::vector<uint32_t> &list, uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; ++round) {
        uint32_t peer = list[(round * 7919) % list.size()];
        DataHeader header;

        f.now += 500;
        f.actions.clear();
        f.flow.credit_update(peer, f.flow.take_cell(peer), f.now, f.actions);
        f.actions.clear();
        f.flow.bulk_queued(peer, 16384,
                           (round % 3 == 0) ? BulkKind::read : BulkKind::write, f.now,
                           f.actions);
        if (f.flow.admit_message(peer, (round % 2 == 0) ? 64 : 4096)) {
            f.flow.stamp(peer, header);
            f.actions.clear();
            f.flow.arrival(peer, header.granted, header.seq, f.now, f.actions);
            f.flow.reposted(1, f.now, f.actions);
            if (round % 2 != 0) {
                f.flow.bytes_arrived(peer, 4096, f.now, f.actions);
                f.flow.bulk_done(peer, 4096);
            }
        } else {
            f.flow.blocked(peer, Waiting{.small = 1, .large = 0, .first = 0, .all = 0},
                           f.now, f.actions);
        }
        while (BulkGrant grant = f.flow.next_bulk(f.now)) {
            f.actions.clear();
            if (grant.kind == BulkKind::read) {
                f.flow.read_done(grant.peer, grant.bytes, f.now, f.actions);
            } else {
                Notice notice = f.flow.stamp_bulk(grant.peer);

                f.flow.byte_request(grant.peer, notice.value & 0xfffffff, f.now,
                                    f.actions);
                f.flow.bytes_arrived(grant.peer, grant.bytes, f.now, f.actions);
                f.flow.bulk_done(grant.peer, grant.bytes);
            }
        }
        f.actions.clear();
        f.flow.tick(f.now, f.actions);
        for (f.actions.clear();; f.actions.clear()) {
            f.flow.drain(f.actions);
            if (f.actions.size() == 0) {
                break;
            }
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow_cost)

BOOST_AUTO_TEST_CASE(ten_thousand_peers_allocate_nothing_after_set_up)
{
    FlowFixture f(config());
    std::vector<uint32_t> list;

    for (uint32_t i = 0; i < peers; ++i) {
        auto peer = f.flow.join(f.now);

        BOOST_REQUIRE(peer.has_value());
        list.push_back(*peer);
        f.actions.clear();
        f.flow.drain(f.actions);
        for (const Action &action : f.actions) {
            if (action.kind == Action::post_receives) {
                uint32_t count = action.value;

                f.actions.clear();
                f.flow.reposted(count, f.now, f.actions);
                break;
            }
        }
    }
    /* A read's channel comes with the first read. */
    for (uint32_t peer : list) {
        f.actions.clear();
        f.flow.bulk_queued(peer, 256, BulkKind::read, f.now, f.actions);
    }
    traffic(f, list, 1000);

    uint64_t before = allocations;

    traffic(f, list, 50'000);
    BOOST_TEST(allocations - before == 0u);
    BOOST_TEST(f.flow.check() == "");
    BOOST_TEST(f.flow.stats().bulk_bytes > 10'000u * 4096);
}

BOOST_AUTO_TEST_SUITE_END()
