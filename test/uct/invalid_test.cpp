// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments: each is refused with UCS_ERR_INVALID_PARAM, nothing is sent, and the endpoint works
// on. Debian's UCX checks parameters, which these tests need.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 1;

struct World {
    World()
    {
        target.on_am(am_id, [this](void *, size_t, unsigned) {
            ++received;
            return UCS_OK;
        });
    }

    ~World()
    {
        // Exactly one message arrives: this one.
        BOOST_CHECK_EQUAL(retry(ifaces,
                                [&] {
                                    return uct_ep_am_short(ep.handle(), am_id, 1, nullptr,
                                                           0);
                                }),
                          UCS_OK);
        flush(ifaces, ep);
        BOOST_CHECK(progress_until(ifaces, [&] { return received > 0; }));
        BOOST_CHECK_EQUAL(received, 1u);
    }

    Interface initiator;
    Interface target;
    Interfaces ifaces{&initiator, &target};
    Endpoint ep{initiator, target.address()};
    Memory local{initiator, 1 << 20};
    Memory remote{target, 1 << 20};
    RemoteKey key{initiator, remote.packed_key()};
    uint64_t received = 0;
};

uct_iov_t entry(const Memory &memory, size_t length)
{
    uct_iov_t iov{};
    iov.buffer = memory.data();
    iov.length = length;
    iov.memh   = memory.memh();
    iov.count  = 1;
    return iov;
}

} // namespace

BOOST_AUTO_TEST_SUITE(invalid)

BOOST_AUTO_TEST_CASE(active_messages)
{
    World world;
    const auto &cap   = world.initiator.attr().cap.am;
    const uct_ep_h ep = world.ep.handle();
    const std::vector<uint8_t> bytes(cap.max_bcopy + 1);

    BOOST_CHECK_EQUAL(uct_ep_am_short(ep, UCT_AM_ID_MAX, 0, nullptr, 0),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_am_short(ep, am_id, 0, bytes.data(),
                                      cap.max_short - sizeof(uint64_t) + 1),
                      UCS_ERR_INVALID_PARAM);
    if (!is_be()) {
        return; // what follows some transports leave unchecked
    }

    Packed packed{bytes.data(), 8};
    BOOST_CHECK_EQUAL(uct_ep_am_bcopy(ep, 255, pack, &packed, 0), UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(packed.calls, 0);

    uct_iov_t too_long = entry(world.local, cap.max_zcopy + 1);
    BOOST_CHECK_EQUAL(uct_ep_am_zcopy(ep, am_id, nullptr, 0, &too_long, 1, 0, nullptr),
                      UCS_ERR_INVALID_PARAM);
    uct_iov_t with_header = entry(world.local, cap.max_zcopy - 8);
    BOOST_CHECK_EQUAL(uct_ep_am_zcopy(ep, am_id, bytes.data(), 9, &with_header, 1, 0,
                                      nullptr),
                      UCS_ERR_INVALID_PARAM);
    uct_iov_t good = entry(world.local, 8);
    BOOST_CHECK_EQUAL(uct_ep_am_zcopy(ep, am_id, bytes.data(), cap.max_hdr + 1, &good, 1,
                                      0, nullptr),
                      UCS_ERR_INVALID_PARAM);
    const std::vector<uct_iov_t> too_many(cap.max_iov + 1, good);
    BOOST_CHECK_EQUAL(uct_ep_am_zcopy(ep, am_id, nullptr, 0, too_many.data(),
                                      too_many.size(), 0, nullptr),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_am_short_iov(ep, am_id, too_many.data(), too_many.size()),
                      UCS_ERR_INVALID_PARAM);
    uct_iov_t unregistered = good;
    unregistered.memh      = UCT_MEM_HANDLE_NULL;
    BOOST_CHECK_EQUAL(uct_ep_am_zcopy(ep, am_id, nullptr, 0, &unregistered, 1, 0,
                                      nullptr),
                      UCS_ERR_INVALID_PARAM);
}

BOOST_AUTO_TEST_CASE(remote_memory)
{
    World world;
    if (!is_be()) {
        return;
    }
    const auto &cap           = world.initiator.attr().cap;
    const uct_ep_h ep         = world.ep.handle();
    const uct_rkey_t key      = world.key.rkey();
    const uct_rkey_t no_right = key & 0xffffffffu;
    const std::vector<uint8_t> bytes(cap.put.max_short + 1);
    const auto ignore = [](void *, const void *, size_t) {};
    uct_iov_t good    = entry(world.local, 8);

    BOOST_CHECK_EQUAL(uct_ep_put_short(ep, bytes.data(), bytes.size(),
                                       world.remote.remote(), key),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_put_short(ep, bytes.data(), 8, world.remote.remote(),
                                       no_right),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_get_bcopy(ep, ignore, nullptr, cap.get.max_bcopy + 1,
                                       world.remote.remote(), key, nullptr),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_get_bcopy(ep, ignore, nullptr, 8, world.remote.remote(),
                                       no_right, nullptr),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_put_zcopy(ep, &good, 1, world.remote.remote(), no_right,
                                       nullptr),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_get_zcopy(ep, &good, 1, world.remote.remote(), no_right,
                                       nullptr),
                      UCS_ERR_INVALID_PARAM);
    const std::vector<uct_iov_t> too_many(cap.put.max_iov + 1, good);
    BOOST_CHECK_EQUAL(uct_ep_put_zcopy(ep, too_many.data(), too_many.size(),
                                       world.remote.remote(), key, nullptr),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(uct_ep_get_zcopy(ep, too_many.data(), too_many.size(),
                                       world.remote.remote(), key, nullptr),
                      UCS_ERR_INVALID_PARAM);
    Packed packed{bytes.data(), 8};
    BOOST_CHECK_EQUAL(uct_ep_put_bcopy(ep, pack, &packed, world.remote.remote(),
                                       no_right),
                      UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(packed.calls, 0);
}

BOOST_AUTO_TEST_CASE(remote_keys)
{
    World world;
    if (!is_be()) {
        return;
    }
    const std::vector<uint8_t> good = world.remote.packed_key();
    for (size_t i = 0; i < good.size(); ++i) {
        if ((i == 5) || ((i >= 8) && (i < 12))) {
            continue; // rights and the key itself: any value may be right
        }
        std::vector<uint8_t> wrong = good;
        wrong[i] ^= 0x55;
        uct_rkey_bundle_t bundle{};
        BOOST_CHECK_EQUAL(uct_rkey_unpack(world.initiator.component(), wrong.data(),
                                          &bundle),
                          UCS_ERR_INVALID_PARAM);
    }
}

BOOST_AUTO_TEST_CASE(interface_parameters)
{
    if (!is_be()) {
        return;
    }
    const auto refused = [](const Error &error) {
        return error.status == UCS_ERR_INVALID_PARAM;
    };
    for (const auto &[name, value] :
         std::initializer_list<std::pair<const char *, const char *>>{
                 {"SEG_SIZE", "512"},
                 {"SEG_SIZE", "1g"},
                 {"RX_QUEUE_LEN", "1"},
                 {"RX_QUEUE_LEN", "1000000"},
                 {"RX_MAX", "100"},
                 {"TX_QUEUE_LEN", "0"},
                 {"TX_QUEUE_LEN", "100000"},
                 {"WINDOW", "1"},
                 {"CHUNK", "2g"},
                 {"MAX_INLINE", "4096"},
                 {"TIMEOUT", "inf"},
                 {"TIMEOUT", "0"},
                 {"RETRY_COUNT", "7"},
                 {"MAX_RECOVERIES", "0"},
                 {"FALLBACK", "udp"},
                 {"TRAFFIC_CLASS", "256"},
                 {"SL", "16"},
                 {"GID_INDEX", "300"},
                 {"PEER_TIMEOUT", "0"},
                 {"PEER_TIMEOUT", "inf"},
                 {"CONNECT_TIMEOUT", "1d"},
                 {"PATH_MTU", "1500"}}) {
        Options options;
        options.config = {{name, value}};
        BOOST_TEST_CONTEXT(name << "=" << value)
        {
            BOOST_CHECK_EXCEPTION(Interface iface(options), Error, refused);
        }
    }

    Options options;
    options.config = {{"WINDOW", "64k"}, {"CHUNK", "128k"}};
    BOOST_CHECK_EXCEPTION(Interface iface(options), Error, refused);

    for (const size_t align : {0, 3, 8192}) {
        options              = {};
        options.am_alignment = align;
        BOOST_CHECK_EXCEPTION(Interface iface(options), Error, refused);
    }
    options                 = {};
    options.am_align_offset = 8;
    BOOST_CHECK_EXCEPTION(Interface iface(options), Error, refused);
}

BOOST_AUTO_TEST_CASE(good_values_of_every_parameter)
{
    if (!is_be()) {
        return;
    }
    Options options;
    options.config = {{"SEG_SIZE", "4k"},
                      {"RX_QUEUE_LEN", "128"},
                      {"RX_MAX", "512"},
                      {"TX_QUEUE_LEN", "64"},
                      {"WINDOW", "1m"},
                      {"CHUNK", "64k"},
                      {"MAX_INLINE", "64"},
                      {"TIMEOUT", "50ms"},
                      {"RETRY_COUNT", "3"},
                      {"TRAFFIC_CLASS", "106"},
                      {"SL", "3"},
                      {"GID_INDEX", "0"},
                      {"PEER_TIMEOUT", "5s"},
                      {"CONNECT_TIMEOUT", "2s"},
                      {"PATH_MTU", "1024"}};
    Interface sender(options), receiver(options);
    BOOST_CHECK_EQUAL(sender.attr().cap.am.max_bcopy, 4096u);
    uint64_t received = 0;
    receiver.on_am(am_id, [&](void *, size_t length, unsigned) {
        received += (length == 4096);
        return UCS_OK;
    });
    Endpoint ep(sender, receiver.address());
    const std::vector<uint8_t> bytes(4096);
    for (int i = 0; i < 1000; ++i) {
        Packed packed{bytes.data(), bytes.size()};
        BOOST_REQUIRE_EQUAL(retry_bcopy({&sender, &receiver},
                                        [&] {
                                            return uct_ep_am_bcopy(ep.handle(), am_id,
                                                                   pack, &packed, 0);
                                        }),
                            4096);
    }
    BOOST_CHECK(progress_until({&sender, &receiver}, [&] { return received == 1000; }));
}

BOOST_AUTO_TEST_SUITE_END()
