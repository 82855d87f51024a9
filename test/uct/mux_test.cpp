// SPDX-License-Identifier: BSD-3-Clause
//
// UCX_BE_MUX=process through UCT: workers of this process talk to four others. Queue pairs are counted in UCX's virtual
// file system, memory by the allocator.

#include "harness.hpp"
#include "metrics.hpp"
#include "peer.hpp"

#include <boost/test/unit_test.hpp>

#include <malloc.h>

#include <map>


using namespace uct_test;

namespace {

constexpr unsigned num_peers   = 4;
constexpr unsigned num_workers = 8;

struct World {
    explicit World(const std::string &scope, unsigned workers = num_workers) :
        peers(num_peers)
    {
        for (unsigned i = 0; i < workers; ++i) {
            Options options;
            options.config["MUX"] = scope;
            options.on_error      = [this](uct_ep_h ep, ucs_status_t) {
                ++failed[ep];
                return UCS_OK;
            };
            ifaces.push_back(std::make_unique<Interface>(options));
            all.push_back(ifaces.back().get());
        }
        for (const auto &iface : ifaces) {
            for (const Peer &peer : peers) {
                eps.push_back(std::make_unique<Endpoint>(*iface, peer.address()));
            }
        }
    }

    // Each worker writes to each peer.
    void put_to_all()
    {
        std::vector<uint8_t> bytes = pattern(3000, 1);
        for (unsigned worker = 0; worker < ifaces.size(); ++worker) {
            for (unsigned i = 0; i < num_peers; ++i) {
                RemoteKey key(*ifaces[worker], peers[i].packed_key());
                const Endpoint &ep = *eps[worker * num_peers + i];
                Packed packed{bytes.data(), bytes.size()};
                BOOST_REQUIRE_EQUAL(retry_bcopy(all,
                                                [&] {
                                                    return uct_ep_put_bcopy(
                                                            ep.handle(), pack, &packed,
                                                            peers[i].remote() +
                                                                    4096 * worker,
                                                            key.rkey());
                                                }),
                                    static_cast<ssize_t>(bytes.size()));
                flush(all, ep);
            }
        }
    }

    std::vector<Peer> peers;
    std::map<uct_ep_h, unsigned> failed;
    std::vector<std::unique_ptr<Interface>> ifaces;
    Interfaces all;
    std::vector<std::unique_ptr<Endpoint>> eps;
};

} // namespace

BOOST_AUTO_TEST_SUITE(mux)

BOOST_AUTO_TEST_CASE(workers_of_a_process_share_queue_pairs)
{
    if (!is_be()) {
        return;
    }
    World world("process");
    world.put_to_all();
    const std::vector<uint64_t> counts = metric("queue_pairs");
    BOOST_REQUIRE_EQUAL(counts.size(), num_workers);
    for (const uint64_t count : counts) {
        BOOST_CHECK_EQUAL(count, 2 * num_peers); // the same ones
    }
    BOOST_CHECK_EQUAL(metric("control_connections")[0], num_peers);
}

BOOST_AUTO_TEST_CASE(workers_by_themselves_do_not)
{
    if (!is_be()) {
        return;
    }
    World world("iface");
    world.put_to_all();
    uint64_t sum = 0;
    for (const uint64_t count : metric("queue_pairs")) {
        sum += count;
    }
    BOOST_CHECK_EQUAL(sum, 2 * num_peers * num_workers);
}

BOOST_AUTO_TEST_CASE(a_killed_peer_is_reported_to_every_worker_once)
{
    if (!is_be()) {
        return;
    }
    World world("process");
    world.put_to_all();
    world.peers[1].kill();
    BOOST_CHECK(progress_until(world.all,
                               [&] { return world.failed.size() == num_workers; }));
    for (unsigned worker = 0; worker < num_workers; ++worker) {
        BOOST_CHECK_EQUAL(world.failed[world.eps[worker * num_peers + 1]->handle()], 1u);
    }
    // The others are as they were.
    for (const auto &ep : world.eps) {
        if (world.failed.count(ep->handle()) == 0) {
            flush(world.all, *ep);
        }
    }
    BOOST_CHECK_EQUAL(metric("queue_pairs")[0], 2 * (num_peers - 1));
}

BOOST_AUTO_TEST_CASE(endpoints_to_known_peers_cost_memory_only)
{
    if (!is_be()) {
        return;
    }
    constexpr unsigned count = 100000;
    World world("process", 1);
    world.put_to_all();
    const uint64_t connections = metric("control_connections")[0];

    std::vector<uct_ep_h> eps(count);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (unsigned i = 0; i < count; ++i) {
        const Address &address = world.peers[i % num_peers].address();
        uct_ep_params_t params{};
        params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                            UCT_EP_PARAM_FIELD_IFACE_ADDR;
        params.iface    = world.ifaces[0]->handle();
        params.dev_addr = reinterpret_cast<const uct_device_addr_t *>(
                address.device.data());
        params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(
                address.iface.data());
        BOOST_REQUIRE_EQUAL(uct_ep_create(&params, &eps[i]), UCS_OK);
    }
    const size_t used = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    BOOST_TEST_MESSAGE(used / count << " bytes for each of " << count << " endpoints");
    BOOST_CHECK_LE(used / count, 512u);

    // Each can be used at once, without progress and so without anything heard from the network.
    for (unsigned i = 0; i < 2 * num_peers; ++i) {
        BOOST_CHECK_EQUAL(uct_ep_am_short(eps[count - 1 - i], peer_am_id, 0, nullptr, 0),
                          UCS_OK);
    }
    for (const uct_ep_h ep : eps) {
        uct_ep_destroy(ep);
    }
    BOOST_CHECK_EQUAL(metric("control_connections")[0], connections);
    BOOST_CHECK_EQUAL(metric("queue_pairs")[0], 2 * num_peers);
}

BOOST_AUTO_TEST_SUITE_END()
