// SPDX-License-Identifier: BSD-3-Clause
//
// Another process as peer, and its end: by SIGKILL while idle and under load, by leaving, by pausing.

#include "peer.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <cstring>
#include <deque>

using namespace uct_test;

namespace {

// Errors per endpoint, as the handler saw them.
struct Survivor {
    Survivor()
    {
        options.on_error = [this](uct_ep_h ep, ucs_status_t status) {
            errors[ep].push_back(status);
            return UCS_OK;
        };
        iface = std::make_unique<Interface>(options);
    }

    bool wait_for_errors(size_t endpoints)
    {
        return progress_until({iface.get()}, [&] { return errors.size() >= endpoints; });
    }

    Options options;
    std::map<uct_ep_h, std::vector<ucs_status_t>> errors;
    std::unique_ptr<Interface> iface;
};

void say_hello(Survivor &survivor, const Endpoint &ep)
{
    BOOST_REQUIRE_EQUAL(retry({survivor.iface.get()},
                              [&] {
                                  return uct_ep_am_short(ep.handle(), peer_am_id, 1,
                                                         nullptr, 0);
                              }),
                        UCS_OK);
    flush({survivor.iface.get()}, ep);
}

// What UCT promises of an endpoint that has failed.
void check_failed(Survivor &survivor, const Endpoint &ep)
{
    BOOST_CHECK_EQUAL(survivor.errors[ep.handle()].size(), 1u);
    BOOST_CHECK_LT(uct_ep_am_short(ep.handle(), peer_am_id, 1, nullptr, 0), UCS_OK);
    BOOST_CHECK_NE(uct_ep_am_short(ep.handle(), peer_am_id, 1, nullptr, 0),
                   UCS_ERR_NO_RESOURCE);
    uct_pending_req_t request{};
    BOOST_CHECK_EQUAL(uct_ep_pending_add(ep.handle(), &request, 0), UCS_ERR_BUSY);
    BOOST_CHECK_EQUAL(uct_ep_check(ep.handle(), 0, nullptr), UCS_OK);
    Completion canceled;
    uct_completion_t *comp = canceled.use();
    canceled.started(uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_CANCEL, comp));
    BOOST_CHECK(progress_until({survivor.iface.get()}, [&] { return canceled.done(); }));
}

} // namespace

BOOST_AUTO_TEST_SUITE(fault)

BOOST_AUTO_TEST_CASE(data_between_processes)
{
    Interface iface;
    const Address mine = iface.address();
    Peer peer(&mine);
    Endpoint ep(iface, peer.address());
    RemoteKey key(iface, peer.packed_key());
    const Interfaces ifaces{&iface};

    std::deque<std::vector<uint8_t>> echoes;
    iface.on_am(peer_am_id, [&](void *data, size_t length, unsigned) {
        const auto *bytes = static_cast<const uint8_t *>(data);
        echoes.emplace_back(bytes, bytes + length);
        return UCS_OK;
    });
    constexpr uint64_t messages = 5000;
    uint64_t wrong = 0, seen = 0;
    const auto look = [&] {
        for (; !echoes.empty(); echoes.pop_front(), ++seen) {
            wrong += echoes.front() != pattern(8 + (seen * 53) % 8000, seen);
        }
        return seen == messages;
    };
    for (uint64_t i = 0; i < messages; ++i) {
        const std::vector<uint8_t> message = pattern(8 + (i * 53) % 8000, i);
        Packed packed{message.data(), message.size()};
        BOOST_REQUIRE_EQUAL(retry_bcopy(ifaces,
                                        [&] {
                                            return uct_ep_am_bcopy(ep.handle(),
                                                                   peer_am_id, pack,
                                                                   &packed, 0);
                                        }),
                            static_cast<ssize_t>(message.size()));
        look();
    }
    BOOST_REQUIRE(progress_until(ifaces, look));
    BOOST_CHECK_EQUAL(wrong, 0u);

    if (!iface.has(UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_ZCOPY)) {
        return;
    }
    Memory local(iface, peer_memory);
    uct_iov_t iov{};
    iov.buffer          = local.data();
    iov.length          = local.size();
    iov.memh            = local.memh();
    iov.count           = 1;
    const auto transfer = [&](auto operation) {
        Completion completion;
        uct_completion_t *comp = completion.use();
        completion.started(retry(ifaces, [&] {
            return operation(ep.handle(), &iov, 1, peer.remote(), key.rkey(), comp);
        }));
        BOOST_REQUIRE(progress_until(ifaces, [&] { return completion.done(); }));
        BOOST_REQUIRE_EQUAL(completion.status(), UCS_OK);
    };
    transfer(uct_ep_get_zcopy);
    BOOST_CHECK(matches(local.data(), local.size(), peer_seed));
    fill(local.data(), local.size(), 1);
    transfer(uct_ep_put_zcopy);
    std::memset(local.data(), 0, local.size());
    transfer(uct_ep_get_zcopy);
    BOOST_CHECK(matches(local.data(), local.size(), 1));
}

BOOST_AUTO_TEST_CASE(killed_while_idle)
{
    Survivor survivor;
    if (!survivor.iface->has(UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE)) {
        return;
    }
    Peer peer, other;
    Endpoint first(*survivor.iface, peer.address()),
            second(*survivor.iface, peer.address());
    Endpoint healthy(*survivor.iface, other.address());
    say_hello(survivor, first);
    say_hello(survivor, second);
    say_hello(survivor, healthy);

    peer.kill();
    const bool seen = progress_until({survivor.iface.get()}, [&] {
        uct_ep_check(first.handle(), 0, nullptr);
        uct_ep_check(second.handle(), 0, nullptr);
        return survivor.errors.size() >= 2;
    });
    BOOST_REQUIRE(seen);
    check_failed(survivor, first);
    check_failed(survivor, second);

    BOOST_CHECK_EQUAL(survivor.errors.count(healthy.handle()), 0u);
    say_hello(survivor, healthy);
}

BOOST_AUTO_TEST_CASE(killed_under_load)
{
    Survivor survivor;
    if (!is_be()) {
        return;
    }
    Peer peer;
    const Interfaces ifaces{survivor.iface.get()};
    Endpoint ep(*survivor.iface, peer.address());
    RemoteKey key(*survivor.iface, peer.packed_key());
    Memory local(*survivor.iface, peer_memory);
    say_hello(survivor, ep);

    uct_iov_t iov{};
    iov.buffer = local.data();
    iov.length = local.size();
    iov.memh   = local.memh();
    iov.count  = 1;

    // It stands still first, so that work piles up: sends until there is no credit, then pending ones.
    peer.signal(SIGSTOP);
    Completion puts, gets, messages, flushed;
    size_t sent = 0;
    for (unsigned refused = 0; (refused < 1000) && (sent < 100000); ++sent) {
        uct_iov_t small        = iov;
        small.length           = 4096;
        uct_completion_t *comp = messages.use();
        const bool taken       = messages.started(uct_ep_am_zcopy(ep.handle(), peer_am_id,
                                                                  nullptr, 0, &small, 1, 0,
                                                                  comp)) >= UCS_OK;
        refused                = taken ? 0 : refused + 1;
        if (!taken) {
            survivor.iface->progress();
        }
    }
    for (int i = 0; i < 50; ++i) {
        puts.started(uct_ep_put_zcopy(ep.handle(), &iov, 1, peer.remote(), key.rkey(),
                                      puts.use()));
        gets.started(uct_ep_get_zcopy(ep.handle(), &iov, 1, peer.remote(), key.rkey(),
                                      gets.use()));
    }
    flushed.started(uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_LOCAL, flushed.use()));

    struct Request {
        uct_pending_req_t super{};
        uct_ep_h ep         = nullptr;
        ucs_status_t result = UCS_INPROGRESS;
    };
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 20; ++i) {
        auto request        = std::make_unique<Request>();
        request->ep         = ep.handle();
        request->super.func = [](uct_pending_req_t *self) {
            auto *mine   = reinterpret_cast<Request *>(self);
            mine->result = uct_ep_am_short(mine->ep, peer_am_id, 1, nullptr, 0);
            return (mine->result == UCS_ERR_NO_RESOURCE) ? mine->result : UCS_OK;
        };
        if (uct_ep_pending_add(ep.handle(), &request->super, 0) == UCS_OK) {
            requests.push_back(std::move(request));
        }
    }
    BOOST_CHECK_GT(requests.size(), 0u);

    peer.kill();
    BOOST_REQUIRE(survivor.wait_for_errors(1));
    BOOST_CHECK(progress_until(ifaces, [&] {
        return puts.done() && gets.done() && messages.done() && flushed.done();
    }));
    BOOST_CHECK(progress_until(ifaces, [&] {
        for (const auto &request : requests) {
            if ((request->result == UCS_INPROGRESS) ||
                (request->result == UCS_ERR_NO_RESOURCE)) {
                return false;
            }
        }
        return true;
    }));
    for (const auto &request : requests) {
        BOOST_CHECK_LT(request->result, UCS_OK);
    }
    check_failed(survivor, ep);
    BOOST_CHECK(puts.done() && gets.done() && messages.done() && flushed.done());
}

BOOST_AUTO_TEST_CASE(an_endpoint_may_be_destroyed_by_its_error_handler)
{
    std::unique_ptr<Endpoint> ep;
    int calls = 0;
    Options options;
    options.on_error = [&](uct_ep_h, ucs_status_t) {
        ++calls;
        ep.reset();
        return UCS_OK;
    };
    if (!is_be()) {
        return;
    }
    Interface iface(options);
    Peer peer;
    ep = std::make_unique<Endpoint>(iface, peer.address());
    BOOST_REQUIRE_EQUAL(retry({&iface},
                              [&] {
                                  return uct_ep_am_short(ep->handle(), peer_am_id, 1,
                                                         nullptr, 0);
                              }),
                        UCS_OK);
    flush({&iface}, *ep);
    peer.kill();
    BOOST_REQUIRE(progress_until({&iface}, [&] { return calls > 0; }));
    BOOST_CHECK_EQUAL(calls, 1);
}

BOOST_AUTO_TEST_CASE(nobody_at_that_address)
{
    Survivor survivor;
    if (!is_be()) {
        return;
    }
    Address address;
    {
        Peer peer;
        address = peer.address();
    }
    Endpoint ep(*survivor.iface, address);
    (void)uct_ep_am_short(ep.handle(), peer_am_id, 1, nullptr, 0);
    BOOST_REQUIRE(survivor.wait_for_errors(1));
    check_failed(survivor, ep);

    // Asked again, it says so again.
    Endpoint again(*survivor.iface, address);
    (void)uct_ep_am_short(again.handle(), peer_am_id, 1, nullptr, 0);
    BOOST_REQUIRE(survivor.wait_for_errors(2));
    check_failed(survivor, again);
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves)
{
    Survivor survivor;
    if (!is_be()) {
        return;
    }
    Peer peer;
    Endpoint ep(*survivor.iface, peer.address());
    say_hello(survivor, ep);
    peer.leave();
    const bool seen = progress_until({survivor.iface.get()}, [&] {
        (void)uct_ep_am_short(ep.handle(), peer_am_id, 1, nullptr, 0);
        return !survivor.errors.empty();
    });
    BOOST_REQUIRE(seen);
    check_failed(survivor, ep);
}

// A peer that stands still for a while is not dead, and nothing is lost.
BOOST_AUTO_TEST_CASE(a_pause_loses_nothing)
{
    Survivor survivor;
    if (!is_be()) {
        return;
    }
    const Address mine = survivor.iface->address();
    Peer peer(&mine);
    const Interfaces ifaces{survivor.iface.get()};
    Endpoint ep(*survivor.iface, peer.address());
    uint64_t echoed = 0, wrong = 0, sent = 0;
    survivor.iface->on_am(peer_am_id, [&](void *data, size_t, unsigned) {
        uint64_t value;
        std::memcpy(&value, data, sizeof(value));
        wrong += (value != echoed++);
        return UCS_OK;
    });
    const auto send = [&] {
        if (uct_ep_am_short(ep.handle(), peer_am_id, sent, nullptr, 0) == UCS_OK) {
            ++sent;
        }
    };
    BOOST_REQUIRE(progress_until(ifaces, [&] {
        send();
        return echoed >= 100;
    }));

    peer.signal(SIGSTOP);
    progress_until(
            ifaces,
            [&] {
                send();
                return false;
            },
            std::chrono::milliseconds(1500));
    peer.signal(SIGCONT);
    BOOST_CHECK(progress_until(ifaces, [&] { return echoed == sent; }));
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK(survivor.errors.empty());
}

BOOST_AUTO_TEST_SUITE_END()
