// SPDX-License-Identifier: BSD-3-Clause
//
// Sleep and wake-up through the event descriptor.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <atomic>
#include <thread>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 2;
constexpr unsigned any  = UCT_EVENT_SEND_COMP | UCT_EVENT_RECV;

int event_fd(const Interface &iface)
{
    int fd = -1;
    BOOST_REQUIRE_EQUAL(uct_iface_event_fd_get(iface.handle(), &fd), UCS_OK);
    BOOST_REQUIRE_GE(fd, 0);
    return fd;
}

bool readable(int fd, int milliseconds)
{
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, milliseconds) == 1;
}

// Arms when nothing is left to do.
void arm(Interface &iface)
{
    const bool armed = progress_until({&iface}, [&] {
        const ucs_status_t status = uct_iface_event_arm(iface.handle(), any);
        BOOST_REQUIRE((status == UCS_OK) || (status == UCS_ERR_BUSY));
        return status == UCS_OK;
    });
    BOOST_REQUIRE(armed);
}

// Blocks in poll() whenever there is nothing to do. Returns false if nothing came in time.
template<typename Done>
bool sleep_until(Interface &iface, int fd, Done done)
{
    while (!done()) {
        while (iface.progress() > 0) {
        }
        if (done()) {
            break;
        }
        const ucs_status_t status = uct_iface_event_arm(iface.handle(), any);
        if (status == UCS_ERR_BUSY) {
            continue;
        }
        if ((status != UCS_OK) || !readable(fd, 20000)) {
            return done();
        }
    }
    return true;
}

} // namespace

BOOST_AUTO_TEST_SUITE(event)

BOOST_AUTO_TEST_CASE(a_message_makes_the_descriptor_readable)
{
    Interface sender, receiver;
    if (!(receiver.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD)) {
        return;
    }
    Endpoint ep(sender, receiver.address());
    uint64_t received = 0;
    receiver.on_am(am_id, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    BOOST_REQUIRE_EQUAL(retry({&sender, &receiver},
                              [&] {
                                  return uct_ep_am_short(ep.handle(), am_id, 1, nullptr,
                                                         0);
                              }),
                        UCS_OK);
    BOOST_REQUIRE(progress_until({&sender, &receiver}, [&] { return received == 1; }));

    const int fd = event_fd(receiver);
    for (uint64_t i = 2; i < 200; ++i) {
        arm(receiver);
        BOOST_REQUIRE_EQUAL(
                retry({&sender},
                      [&] {
                          const ucs_status_t status = uct_ep_am_short(ep.handle(), am_id,
                                                                      i, nullptr, 0);
                          if ((status == UCS_ERR_NO_RESOURCE) && readable(fd, 0)) {
                              // Whatever the sender waits for, it has woken the receiver.
                              arm(receiver);
                          }
                          return status;
                      }),
                UCS_OK);
        BOOST_REQUIRE(readable(fd, 10000));
        BOOST_REQUIRE(progress_until({&receiver}, [&] { return received == i; }));
    }
}

// While UCP has no endpoint on an interface it leaves it alone after UCS_ERR_BUSY, and its user sleeps.
BOOST_AUTO_TEST_CASE(a_message_that_waits_is_no_reason_to_refuse)
{
    Interface sender, receiver;
    if (!is_be()) {
        return; // elsewhere a flush needs the receiver's progress
    }
    Endpoint ep(sender, receiver.address());
    uint64_t received = 0;
    receiver.on_am(am_id, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    for (uint64_t i = 1; i < 100; ++i) {
        BOOST_REQUIRE_EQUAL(retry({&sender, &receiver},
                                  [&] {
                                      return uct_ep_am_short(ep.handle(), am_id, i,
                                                             nullptr, 0);
                                  }),
                            UCS_OK);
        flush({&sender}, ep); // it is there, only not looked at
        if (received < i) {
            const int fd              = event_fd(receiver);
            const ucs_status_t status = uct_iface_event_arm(receiver.handle(), any);
            BOOST_REQUIRE_EQUAL(status, UCS_OK);
            BOOST_REQUIRE(readable(fd, 0));
        }
        BOOST_REQUIRE(progress_until({&receiver}, [&] { return received == i; }));
    }
}

BOOST_AUTO_TEST_CASE(a_completion_wakes_the_initiator)
{
    Interface initiator, target;
    if (!is_be()) {
        return; // only `be` of the transports here completes puts later
    }
    constexpr size_t length = size_t{4} << 20;
    Endpoint ep(initiator, target.address());
    Memory local(initiator, length), remote(target, length);
    RemoteKey key(initiator, remote.packed_key());
    flush({&initiator, &target}, ep);
    const int fd = event_fd(initiator);

    uct_iov_t iov{};
    iov.buffer = local.data();
    iov.length = length;
    iov.memh   = local.memh();
    iov.count  = 1;
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            target.progress();
        }
    });
    for (int i = 0; i < 50; ++i) {
        Completion completion;
        uct_completion_t *comp = completion.use();
        const auto status      = completion.started(retry({&initiator}, [&] {
            return uct_ep_put_zcopy(ep.handle(), &iov, 1, remote.remote(), key.rkey(),
                                         comp);
        }));
        BOOST_CHECK((status == UCS_OK) || (status == UCS_INPROGRESS));
        const bool woken = sleep_until(initiator, fd, [&] { return completion.done(); });
        BOOST_CHECK(woken);
        if (!woken) {
            break;
        }
    }
    stop = true;
    other.join();
}

// Two threads hand a number back and forth, asleep in between: one lost wake-up and it stops.
BOOST_AUTO_TEST_CASE(ping_pong_asleep)
{
    constexpr uint64_t rounds = 2000;
    Interface here, there;
    if (!(here.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD)) {
        return;
    }
    Endpoint forth(here, there.address()), back(there, here.address());
    uint64_t got_here = 0, got_there = 0;
    here.on_am(am_id, [&](void *, size_t, unsigned) {
        ++got_here;
        return UCS_OK;
    });
    there.on_am(am_id, [&](void *, size_t, unsigned) {
        ++got_there;
        return UCS_OK;
    });
    const auto send = [](Interface &iface, Endpoint &ep) {
        return retry({&iface}, [&] {
                   return uct_ep_am_short(ep.handle(), am_id, 0, nullptr, 0);
               }) == UCS_OK;
    };

    bool responder_ok = true;
    std::thread responder([&] {
        const int fd = event_fd(there);
        for (uint64_t i = 1; responder_ok && (i <= rounds); ++i) {
            responder_ok = sleep_until(there, fd, [&] { return got_there >= i; }) &&
                           send(there, back);
        }
    });
    const int fd = event_fd(here);
    bool ok      = true;
    for (uint64_t i = 1; ok && (i <= rounds); ++i) {
        ok = send(here, forth) && sleep_until(here, fd, [&] { return got_here >= i; });
    }
    responder.join();
    BOOST_CHECK(ok);
    BOOST_CHECK(responder_ok);
    BOOST_CHECK_EQUAL(got_here, rounds);
}

// A sender out of credit sleeps; the receiver's progress must wake it.
BOOST_AUTO_TEST_CASE(credit_wakes_a_sleeping_sender)
{
    constexpr uint64_t messages = 20000;
    Options options;
    if (!is_be()) {
        return; // no credits elsewhere
    }
    options.config = {{"RX_QUEUE_LEN", "64"}};
    Interface sender, receiver(options);
    Endpoint ep(sender, receiver.address());
    std::atomic<uint64_t> received{0};
    std::atomic<bool> stop{false};
    receiver.on_am(am_id, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });

    struct Request {
        uct_pending_req_t super{};
        uct_ep_h ep = nullptr;
        bool done   = true;
    } request;
    request.ep         = ep.handle();
    request.super.func = [](uct_pending_req_t *self) {
        auto *mine                = reinterpret_cast<Request *>(self);
        const ucs_status_t status = uct_ep_am_short(mine->ep, am_id, 0, nullptr, 0);
        mine->done                = (status == UCS_OK);
        return status;
    };

    std::thread other([&] {
        const int fd = event_fd(receiver);
        while (!stop) {
            while (receiver.progress() > 0) {
            }
            if (uct_iface_event_arm(receiver.handle(), any) == UCS_OK) {
                readable(fd, 50);
            }
        }
    });
    const int fd = event_fd(sender);
    bool ok      = true;
    for (uint64_t i = 0; ok && (i < messages); ++i) {
        for (;;) {
            const ucs_status_t status = uct_ep_am_short(ep.handle(), am_id, 0, nullptr,
                                                        0);
            if (status == UCS_OK) {
                break;
            }
            request.done = false;
            if (uct_ep_pending_add(ep.handle(), &request.super, 0) == UCS_OK) {
                ok = sleep_until(sender, fd, [&] { return request.done; });
                break;
            }
        }
    }
    BOOST_CHECK(ok);
    BOOST_CHECK(progress_until({&sender}, [&] { return received == messages; }));
    stop = true;
    other.join();
}

BOOST_AUTO_TEST_SUITE_END()
