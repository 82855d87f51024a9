// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's parts that need no device: addresses, the queue pair table, the queues of operations and of what was
// posted.

#define BOOST_TEST_MODULE engine_parts
#include "engine/address.hpp"
#include "engine/bulk_operation.hpp"
#include "engine/qpn_table.hpp"
#include "engine/receive_ring.hpp"
#include "engine/send_account.hpp"
#include "engine/send_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <functional>
#include <initializer_list>
#include <random>
#include <unordered_map>
#include <vector>

using namespace be::engine;

// Work leaves room to what the protocol says, and that to markers, which always find some to bring the rest back.
BOOST_AUTO_TEST_CASE(a_completion_queue_is_not_overrun)
{
    SendAccount account(64);
    const auto fill = [&](bool (SendAccount::*room)() const noexcept) {
        while ((account.*room)()) {
            account.posted(false);
        }
        return account.outstanding();
    };
    BOOST_CHECK_EQUAL(fill(&SendAccount::room), 48u);
    BOOST_CHECK_EQUAL(fill(&SendAccount::room_for_protocol), 56u);
    BOOST_CHECK_EQUAL(fill(&SendAccount::room_for_marker), 64u);

    BOOST_CHECK(account.reclaim_due());
    account.reclaimed(false); // for want of room
    BOOST_CHECK(account.reclaim_due());
    account.reclaimed(true);
    BOOST_CHECK(!account.reclaim_due());
    account.retired();
    account.posted(true);
    BOOST_CHECK(account.reclaim_due());
    while (account.outstanding() >= 48) {
        account.retired();
    }
    BOOST_CHECK(!account.reclaim_due());
    BOOST_CHECK(account.room());

    BOOST_CHECK_EQUAL(account.signals(), 1u);
    account.completed();
    account.completed(); // a failure that nobody asked to hear of
    BOOST_CHECK_EQUAL(account.signals(), 0u);
    account.replayed(16);
    BOOST_CHECK(account.crowded());
}

BOOST_AUTO_TEST_CASE(addresses_survive_the_journey)
{
    FabricAddress address;
    address.identity.fabric_id = 0x0123456789abcdefULL;
    for (std::size_t i = 0; i < address.identity.token.size(); ++i) {
        address.identity.token[i] = static_cast<std::uint8_t>(200 + i);
    }
    address.control = *be::control::Address::parse("10.1.2.3:4567");
    address.device  = {Wire::infiniband, 0xfe80000000000000ULL};
    address.iface   = 0xfedc;

    std::array<std::uint8_t, BE_FABRIC_ADDR_LEN> bytes;
    address.encode(bytes);
    const auto back = FabricAddress::decode(bytes);
    BOOST_REQUIRE(back);
    BOOST_CHECK_EQUAL(back->identity.fabric_id, address.identity.fabric_id);
    BOOST_CHECK(back->identity.token == address.identity.token);
    BOOST_CHECK(back->control == address.control);
    BOOST_CHECK(back->device.wire == Wire::infiniband);
    BOOST_CHECK_EQUAL(back->device.domain, address.device.domain);
    BOOST_CHECK_EQUAL(back->iface, address.iface);
}

BOOST_AUTO_TEST_CASE(what_is_not_an_address_is_refused)
{
    std::array<std::uint8_t, BE_FABRIC_ADDR_LEN> bytes{};
    BOOST_CHECK(!FabricAddress::decode(bytes));
    FabricAddress address;
    address.encode(bytes);
    BOOST_CHECK(!FabricAddress::decode(bytes)); // fabric id 0
    address.identity.fabric_id = 1;
    address.encode(bytes);
    BOOST_CHECK(FabricAddress::decode(bytes));
    bytes[0] ^= 0xff;
    BOOST_CHECK(!FabricAddress::decode(bytes)); // version
    bytes[0] ^= 0xff;
    bytes[1] = 77;
    BOOST_CHECK(!FabricAddress::decode(bytes)); // network

    std::array<std::uint8_t, BE_DEVICE_ADDR_LEN> device{};
    BOOST_CHECK(!DeviceAddress::decode(device));
}

BOOST_AUTO_TEST_CASE(reachability_has_its_reasons)
{
    const DeviceAddress soft{Wire::soft, 1};
    BOOST_CHECK(soft.unreachable_because({Wire::soft, 1}).empty());
    BOOST_CHECK(!soft.unreachable_because({Wire::soft, 2}).empty());
    BOOST_CHECK(!soft.unreachable_because({Wire::ethernet, 1}).empty());
    BOOST_CHECK_EQUAL(soft_domain(), soft_domain());
}

BOOST_AUTO_TEST_CASE(the_queue_pair_table_agrees_with_a_map)
{
    std::mt19937 random(1);
    QpnTable table;
    std::unordered_map<std::uint32_t, std::uint32_t> model;
    for (unsigned step = 0; step < 200000; ++step) {
        const std::uint32_t qpn = random() % 500 * 16384 +
                                  random() % 3; // as a soft device numbers them
        const auto found = model.find(qpn);
        BOOST_REQUIRE_EQUAL(table.find(qpn),
                            found == model.end() ? QpnTable::none : found->second);
        if (found != model.end()) {
            table.erase(qpn);
            model.erase(found);
        } else {
            table.insert(qpn, step);
            model.emplace(qpn, step);
        }
    }
    for (const auto &[qpn, value] : model) {
        BOOST_REQUIRE_EQUAL(table.find(qpn), value);
    }
    table.erase(0xffffff); // a stranger
}

BOOST_AUTO_TEST_CASE(operations_queue_in_order_and_are_used_again)
{
    BulkOperations pool;
    BulkQueue queue;
    BulkOperation *first  = pool.get();
    BulkOperation *second = pool.get();
    queue.push(first);
    queue.push(second);
    BOOST_CHECK_EQUAL(queue.size(), 2u);
    BOOST_CHECK_EQUAL(queue.pop(), first);
    BOOST_CHECK_EQUAL(queue.front(), second);
    first->unposted = 5;
    pool.put(first);
    BOOST_CHECK_EQUAL(pool.get(), first);
    BOOST_CHECK_EQUAL(first->unposted, 0u);
    BOOST_CHECK_EQUAL(queue.pop(), second);
    BOOST_CHECK(queue.empty());
}

BOOST_AUTO_TEST_CASE(receive_buffers_have_room_in_front_and_are_aligned)
{
    for (const std::size_t headroom : {0, 1, 8, 56, 57, 200}) {
        const auto layout = ReceiveLayout::make(8192, headroom, 128, 24);
        BOOST_CHECK_GE(layout.payload_offset, headroom + sizeof(void *));
        BOOST_CHECK_GE(layout.payload_offset, 16u);
        BOOST_CHECK_EQUAL(layout.buffer_size, layout.payload_offset + 8192);
        BOOST_CHECK_EQUAL(layout.align_offset, layout.payload_offset + 24);
        BOOST_CHECK_EQUAL(layout.alignment, 128u);
    }
}

namespace {

// Slots of a queue without a device; `value` tells them apart.
struct Replayed {
    explicit Replayed(std::initializer_list<Slot::Kind> kinds) : queue(64)
    {
        for (const Slot::Kind kind : kinds) {
            BOOST_REQUIRE_EQUAL(queue.keep({.kind = kind, .value = kept++}), 0);
        }
    }

    // Markers are not posted again.
    void replay()
    {
        posted.clear();
        const int count = queue.replay(
                [](const Slot &slot) { return slot.kind != Slot::Kind::marker; },
                [&](const Slot &, std::uint64_t number) {
                    posted.push_back(static_cast<std::uint32_t>(number));
                    return 0;
                },
                note());
        BOOST_REQUIRE_EQUAL(count, posted.size());
    }

    std::function<void(const Slot &)> note()
    {
        return [this](const Slot &slot) { done.push_back(slot.value); };
    }

    SendQueue queue;
    std::uint64_t kept = 0;
    std::vector<std::uint32_t> posted; // their numbers, as a completion has them
    std::vector<std::uint64_t> done;
};

} // namespace

BOOST_AUTO_TEST_CASE(what_fails_again_after_a_replay_is_not_done)
{
    using enum Slot::Kind;
    Replayed replayed({plain, marker, plain, marker, marker});
    replayed.replay();
    BOOST_REQUIRE_EQUAL(replayed.posted.size(), 2);
    replayed.queue.retire(replayed.posted[0], replayed.note());
    replayed.queue.failed(replayed.posted[1], replayed.note());
    BOOST_TEST(replayed.done == (std::vector<std::uint64_t>{0, 1}),
               boost::test_tools::per_element());
    BOOST_CHECK(replayed.queue.drained());
}

BOOST_AUTO_TEST_CASE(what_a_replay_leaves_out_is_done_with_what_is_before_it)
{
    using enum Slot::Kind;
    Replayed replayed({marker, plain, marker, plain, marker});
    replayed.replay();
    BOOST_TEST(replayed.done == (std::vector<std::uint64_t>{0}),
               boost::test_tools::per_element());
    replayed.queue.retire(replayed.posted[0], replayed.note());
    BOOST_CHECK_EQUAL(replayed.done.size(), 2);
    replayed.queue.retire(replayed.posted[1], replayed.note());
    BOOST_CHECK_EQUAL(replayed.done.size(), 5);
    BOOST_CHECK(replayed.queue.idle());
}
