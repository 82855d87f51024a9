// SPDX-License-Identifier: BSD-3-Clause
//
// Pending requests: order among themselves and ahead of later sends, purge, endpoints in turn.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 7;

// Sends one number when its turn comes.
struct Request {
    uct_pending_req_t super{};
    uct_ep_h ep    = nullptr;
    uint64_t value = 0;
    bool done      = false;
    // Runs after the send succeeded, inside the turn, like the completion callback of an upper layer.
    std::function<void()> then;

    static ucs_status_t run(uct_pending_req_t *self)
    {
        auto *request             = reinterpret_cast<Request *>(self);
        const ucs_status_t status = uct_ep_am_short(request->ep, am_id, request->value,
                                                    nullptr, 0);
        if (status == UCS_ERR_NO_RESOURCE) {
            return status;
        }
        request->done = true;
        if (request->then) {
            request->then();
        }
        return UCS_OK;
    }
};

std::unique_ptr<Request> make_request(const Endpoint &ep, uint64_t value)
{
    auto request        = std::make_unique<Request>();
    request->super.func = Request::run;
    request->ep         = ep.handle();
    request->value      = value;
    return request;
}

struct World {
    World()
    {
        receiver.on_am(am_id, [this](void *data, size_t, unsigned) {
            received.push_back(0);
            std::memcpy(&received.back(), data, sizeof(uint64_t));
            return UCS_OK;
        });
    }

    // Sends until the transport refuses: the receiver makes no progress meanwhile. Returns how many.
    uint64_t exhaust(const Endpoint &ep, uint64_t first = 0)
    {
        uint64_t sent = 0;
        while (uct_ep_am_short(ep.handle(), am_id, first + sent, nullptr, 0) == UCS_OK) {
            ++sent;
            BOOST_REQUIRE_LT(sent, 1000000u);
        }
        return sent;
    }

    void expect_in_order(uint64_t count)
    {
        BOOST_REQUIRE(progress_until(ifaces, [&] { return received.size() >= count; }));
        BOOST_REQUIRE_EQUAL(received.size(), count);
        for (uint64_t i = 0; i < count; ++i) {
            BOOST_REQUIRE_EQUAL(received[i], i);
        }
    }

    static Options few_receives()
    {
        Options options;
        if (is_be()) {
            options.config = {{"RX_QUEUE_LEN", "64"}};
        }
        return options;
    }

    Interface sender{few_receives()};
    Interface receiver{few_receives()};
    Endpoint ep{sender, receiver.address()};
    Interfaces ifaces{&sender, &receiver};
    std::vector<uint64_t> received;
};

// Connects, so that refusal means "no resources" and not "not connected yet".
void warm_up(World &world, const Endpoint &ep)
{
    BOOST_REQUIRE_EQUAL(retry(world.ifaces,
                              [&] {
                                  return uct_ep_am_short(ep.handle(), am_id, 0, nullptr,
                                                         0);
                              }),
                        UCS_OK);
    BOOST_REQUIRE(progress_until(world.ifaces, [&] { return !world.received.empty(); }));
    world.received.clear();
}

} // namespace

BOOST_AUTO_TEST_SUITE(pending)

BOOST_AUTO_TEST_CASE(requests_go_out_in_order)
{
    World world;
    warm_up(world, world.ep);
    uint64_t next = world.exhaust(world.ep);

    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 500; ++i) {
        requests.push_back(make_request(world.ep, next++));
        BOOST_REQUIRE_EQUAL(uct_ep_pending_add(world.ep.handle(), &requests.back()->super,
                                               0),
                            UCS_OK);
    }
    world.expect_in_order(next);
    for (const auto &request : requests) {
        BOOST_CHECK(request->done);
    }
}

// Whatever becomes free in between: who comes later does not overtake.
BOOST_AUTO_TEST_CASE(later_sends_wait_behind_requests)
{
    World world;
    if (transport() == "posix") {
        return; // it lets later sends overtake
    }
    warm_up(world, world.ep);
    uint64_t next = world.exhaust(world.ep);
    std::vector<std::unique_ptr<Request>> requests;

    for (int i = 0; i < 3000; ++i) {
        const ucs_status_t status = uct_ep_am_short(world.ep.handle(), am_id, next,
                                                    nullptr, 0);
        if (status == UCS_OK) {
            ++next;
        } else {
            BOOST_REQUIRE_EQUAL(status, UCS_ERR_NO_RESOURCE);
            auto request               = make_request(world.ep, next);
            const ucs_status_t pending = uct_ep_pending_add(world.ep.handle(),
                                                            &request->super, 0);
            BOOST_REQUIRE((pending == UCS_OK) || (pending == UCS_ERR_BUSY));
            if (pending == UCS_OK) {
                requests.push_back(std::move(request));
                ++next;
            }
        }
        if (i % 3 == 0) {
            world.receiver.progress();
        }
        if (i % 7 == 0) {
            world.sender.progress();
        }
    }
    BOOST_CHECK_GT(requests.size(), 0u);
    world.expect_in_order(next);
}

// The callback of a request sends too, which must not jump the queue of those who wait.
BOOST_AUTO_TEST_CASE(sends_inside_a_turn_do_not_overtake)
{
    World world;
    if (!is_be()) {
        return; // UCX's transports let them
    }
    warm_up(world, world.ep);
    uint64_t next = world.exhaust(world.ep);
    std::vector<std::unique_ptr<Request>> requests, late;

    for (int i = 0; i < 10; ++i) {
        requests.push_back(make_request(world.ep, next++));
        BOOST_REQUIRE_EQUAL(uct_ep_pending_add(world.ep.handle(), &requests.back()->super,
                                               0),
                            UCS_OK);
    }
    for (const auto &request : requests) {
        request->then = [&] {
            const ucs_status_t status = uct_ep_am_short(world.ep.handle(), am_id, next,
                                                        nullptr, 0);
            BOOST_REQUIRE_EQUAL(status, UCS_ERR_NO_RESOURCE);
            late.push_back(make_request(world.ep, next++));
            BOOST_REQUIRE_EQUAL(uct_ep_pending_add(world.ep.handle(), &late.back()->super,
                                                   0),
                                UCS_OK);
        };
    }
    BOOST_REQUIRE(
            progress_until(world.ifaces, [&] { return late.size() == requests.size(); }));
    world.expect_in_order(next);

    // The gate is open again.
    BOOST_CHECK_EQUAL(uct_ep_am_short(world.ep.handle(), am_id, next++, nullptr, 0),
                      UCS_OK);
    world.expect_in_order(next);
}

BOOST_AUTO_TEST_CASE(busy_when_a_send_would_work)
{
    World world;
    warm_up(world, world.ep);
    world.sender.progress();
    auto request = make_request(world.ep, 0);
    BOOST_CHECK_EQUAL(uct_ep_pending_add(world.ep.handle(), &request->super, 0),
                      UCS_ERR_BUSY);
}

BOOST_AUTO_TEST_CASE(purge_returns_every_request_in_order)
{
    World world;
    warm_up(world, world.ep);
    uint64_t next       = world.exhaust(world.ep);
    const uint64_t sent = next;
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 50; ++i) {
        requests.push_back(make_request(world.ep, next++));
        BOOST_REQUIRE_EQUAL(uct_ep_pending_add(world.ep.handle(), &requests.back()->super,
                                               0),
                            UCS_OK);
    }

    std::vector<uint64_t> purged;
    uct_ep_pending_purge(
            world.ep.handle(),
            [](uct_pending_req_t *self, void *arg) {
                static_cast<std::vector<uint64_t> *>(arg)->push_back(
                        reinterpret_cast<Request *>(self)->value);
            },
            &purged);
    BOOST_REQUIRE_EQUAL(purged.size(), requests.size());
    for (size_t i = 0; i < purged.size(); ++i) {
        BOOST_CHECK_EQUAL(purged[i], sent + i);
    }

    // None of them is sent later, and the endpoint works.
    BOOST_REQUIRE(
            progress_until(world.ifaces, [&] { return world.received.size() == sent; }));
    BOOST_REQUIRE_EQUAL(retry(world.ifaces,
                              [&] {
                                  return uct_ep_am_short(world.ep.handle(), am_id, sent,
                                                         nullptr, 0);
                              }),
                        UCS_OK);
    world.expect_in_order(sent + 1);
    for (const auto &request : requests) {
        BOOST_CHECK(!request->done);
    }
}

// What can go, goes in one progress: an endpoint that keeps a few requests makes requests of all that follow, and a busy
// user would never get to send directly again.
BOOST_AUTO_TEST_CASE(all_that_can_go_goes_at_once)
{
    constexpr size_t count = 30; // more than a turn, within the credit of one peer
    World world;
    if (!is_be()) {
        return;
    }
    warm_up(world, world.ep);
    uint64_t next       = world.exhaust(world.ep);
    const uint64_t sent = next;
    std::vector<std::unique_ptr<Request>> requests;
    for (size_t i = 0; i < count; ++i) {
        requests.push_back(make_request(world.ep, next++));
        BOOST_REQUIRE_EQUAL(uct_ep_pending_add(world.ep.handle(), &requests.back()->super,
                                               0),
                            UCS_OK);
    }
    // The receiver takes all and, in time, posts each receive again and tells of the credit for it.
    BOOST_REQUIRE(progress_until({&world.receiver},
                                 [&] { return world.received.size() == sent; }));
    for (int i = 0; i < 10000; ++i) {
        world.receiver.progress();
    }
    BOOST_REQUIRE(
            progress_until({&world.sender}, [&] { return requests.front()->done; }));
    BOOST_CHECK(requests.back()->done);
    world.expect_in_order(next);
}

// Endpoints with requests take turns: none is served to its end while another waits.
BOOST_AUTO_TEST_CASE(endpoints_take_turns)
{
    constexpr size_t endpoints = 8, each = 400;
    World world;
    if (!is_be()) {
        return;
    }
    warm_up(world, world.ep);
    std::vector<std::unique_ptr<Endpoint>> eps;
    for (size_t i = 0; i < endpoints; ++i) {
        eps.push_back(std::make_unique<Endpoint>(world.sender, world.receiver.address()));
    }
    const uint64_t ahead = world.exhaust(world.ep);

    std::vector<std::unique_ptr<Request>> requests;
    for (size_t e = 0; e < endpoints; ++e) {
        // Each meets the refusal itself, as any sender does.
        BOOST_REQUIRE_EQUAL(uct_ep_am_short(eps[e]->handle(), am_id, 0, nullptr, 0),
                            UCS_ERR_NO_RESOURCE);
        for (size_t i = 0; i < each; ++i) {
            requests.push_back(make_request(*eps[e], e));
            BOOST_REQUIRE_EQUAL(uct_ep_pending_add(eps[e]->handle(),
                                                   &requests.back()->super, 0),
                                UCS_OK);
        }
    }

    std::vector<size_t> served(endpoints);
    size_t seen = ahead, largest_lead = 0;
    BOOST_REQUIRE(progress_until(world.ifaces, [&] {
        for (; seen < world.received.size(); ++seen) {
            const size_t mine = ++served.at(world.received[seen]);
            for (const size_t others : served) {
                largest_lead = std::max(largest_lead, mine - std::min(mine, others));
            }
        }
        return seen == ahead + endpoints * each;
    }));
    // A turn is 16 requests; whose turn is cut short for want of resources goes on with the rest of it.
    BOOST_CHECK_LE(largest_lead, 16u);
}

BOOST_AUTO_TEST_SUITE_END()
