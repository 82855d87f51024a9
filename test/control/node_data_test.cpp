// SPDX-License-Identifier: BSD-3-Clause
//
// Data between fabrics, through the node and over TCP on loopback.

#include "control/logger.hpp"
#include "node_fixture.hpp"
#include "poller.hpp"
#include "samples.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind = Happening::Kind;

namespace {

using Bytes = std::vector<std::uint8_t>;

Settings with_data(std::size_t max_queued_data = Settings().max_queued_data)
{
    Settings settings;
    settings.features        = feature_tcp_path | feature_recovery;
    settings.max_queued_data = max_queued_data;
    return settings;
}

// Two connected fabrics; a's calls name `at_a`, b's `at_b`.
struct Connected : NodeFixture {
    Recorder a, b;
    ConnectionId at_a = 0, at_b = 0;
    std::atomic<bool> pause_at_first{false}; // b, in its callback

    Connected() : a(node, port, with_data(100000)), b(node, port, with_data())
    {
        b.respond = [this](const Happening &happening) {
            if (happening.kind == Kind::connect) {
                node->accept(happening.id, b.info());
            } else if ((happening.kind == Kind::data) && pause_at_first.exchange(false)) {
                node->pause_reading(happening.id, true);
            }
        };
        at_a = a.connect(port, b.identity());
        at_b = b.next(Kind::connect).id;
        a.next(Kind::accept);
        b.next(Kind::ready);
    }

    static Bytes content(std::uint32_t number, std::size_t size)
    {
        Bytes bytes(size);
        for (std::size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<std::uint8_t>(number + i * 7);
        }
        return bytes;
    }

    bool send(std::uint32_t number, std::size_t size)
    {
        auto header  = content(number, number % (max_data_header + 1));
        auto payload = content(number, size);
        return node->data(at_a, {.kind    = static_cast<std::uint8_t>(number),
                                 .epoch   = number,
                                 .header  = header,
                                 .payload = payload});
    }

    void expect(std::uint32_t number, std::size_t size)
    {
        auto arrived = b.next(Kind::data);
        BOOST_TEST_REQUIRE(arrived.recover.epoch == number);
        BOOST_TEST(arrived.id == at_b);
        BOOST_TEST(arrived.data_kind == static_cast<std::uint8_t>(number));
        BOOST_TEST((arrived.header == content(number, number % (max_data_header + 1))));
        BOOST_TEST((arrived.payload == content(number, size)));
    }

    // Data of this size until neither the kernel nor the account takes more. Returns
    // how many were taken.
    std::uint32_t fill(std::size_t size)
    {
        for (std::uint32_t count = 0;;) {
            if (send(count, size)) {
                ++count;
                BOOST_REQUIRE(count * size < (256u << 20));
                continue;
            }
            const bool moves = round_trips();
            if (!a.is_quiet()) {
                a.next(Kind::writable);
            } else if (!moves) {
                return count;
            }
        }
    }

    // The control thread has done what was asked of it, and has looked at its sockets. True when the kernel has taken
    // something meanwhile.
    bool round_trips()
    {
        const auto before = node->counters().bytes_out;
        for (int i = 0; i < 10; ++i) {
            node->listen("127.0.0.1");
        }
        return node->counters().bytes_out != before;
    }
};

// The control thread alone, and one that polls beside it.
const auto ways = boost::unit_test::data::make({false, true});

} // namespace

BOOST_FIXTURE_TEST_SUITE(node_data, Connected)

BOOST_DATA_TEST_CASE(arrives_whole_and_in_order, ways, polled)
{
    const Poller poller(*node, polled);
    const std::size_t sizes[] = {0, 1, 63, 4096, 5000, 30000, max_data_payload};
    std::uint32_t number      = 0;
    for (int round = 0; round < 20; ++round) {
        for (auto size : sizes) {
            while (!send(number, size)) {
                a.next(Kind::writable);
            }
            ++number;
        }
    }
    number = 0;
    for (int round = 0; round < 20; ++round) {
        for (auto size : sizes) {
            expect(number++, size);
        }
    }
    BOOST_TEST(b.is_quiet());

    // And the other way.
    auto payload = content(5, 100);
    BOOST_TEST(node->data(at_b, {.payload = payload}));
    auto arrived = a.next();
    while (arrived.kind == Kind::writable) {
        arrived = a.next();
    }
    BOOST_TEST((arrived.payload == payload));
}

// Some of it is written by this thread and some by the control thread, which writes all other messages.
BOOST_DATA_TEST_CASE(keeps_its_place_among_other_messages, ways, polled)
{
    const Poller poller(*node, polled);
    constexpr std::uint32_t count = 300;
    for (std::uint32_t i = 0; i < count; ++i) {
        while (!send(i, (i % 7) * 9000)) {
            a.next(Kind::writable);
        }
        if (i % 3 == 0) {
            node->recovered(at_a, i + 1000);
        }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        expect(i, (i % 7) * 9000);
        if (i % 3 == 0) {
            auto other = b.next(Kind::recovered);
            BOOST_TEST_REQUIRE(other.recover.epoch == i + 1000);
        }
    }
}

// A frame that the socket took in part, when the end comes.
BOOST_DATA_TEST_CASE(end_in_the_middle_of_a_frame, ways, polled)
{
    const Poller poller(*node, polled);
    node->pause_reading(at_b, true);
    auto count = fill(max_data_payload);
    node->close(at_a);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::local);
    BOOST_TEST(send(count, 10)); // leads nowhere
    node->pause_reading(at_b, false);
    for (std::uint32_t i = 0; i < count; ++i) {
        expect(i, max_data_payload);
    }
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::goodbye);
}

// The receiver stops reading: the sender is stopped, told when to go on, and nothing is
// lost or doubled.
BOOST_DATA_TEST_CASE(receiver_that_pauses_stops_the_sender, ways, polled)
{
    const Poller poller(*node, polled);
    for (std::size_t size : {std::size_t(100), std::size_t(4000), max_data_payload}) {
        node->pause_reading(at_b, true);
        round_trips();
        auto count = fill(size);
        BOOST_TEST(count * size >= 50000u);
        BOOST_TEST(b.is_quiet());

        node->pause_reading(at_b, false);
        a.next(Kind::writable);
        BOOST_TEST(send(count, size));
        for (std::uint32_t i = 0; i <= count; ++i) {
            expect(i, size);
        }
        BOOST_TEST(b.is_quiet());
    }
    BOOST_TEST(node->counters().slow_readers == 0u);
}

BOOST_DATA_TEST_CASE(pause_in_a_callback_takes_effect_at_once, ways, polled)
{
    const Poller poller(*node, polled);
    constexpr std::uint32_t count = 50;
    pause_at_first                = true;
    for (std::uint32_t i = 0; i < count; ++i) {
        BOOST_TEST(send(i, 20));
    }
    expect(0, 20);
    round_trips();
    BOOST_TEST(b.is_quiet());

    // Single steps.
    for (std::uint32_t i = 1; i < count; ++i) {
        pause_at_first = true;
        node->pause_reading(at_b, false);
        expect(i, 20);
        round_trips();
        BOOST_TEST(b.is_quiet());
    }
}

BOOST_DATA_TEST_CASE(what_was_taken_arrives_before_goodbye, ways, polled)
{
    const Poller poller(*node, polled);
    BOOST_TEST(send(0, max_data_payload));
    BOOST_TEST(send(1, 10));
    node->close(at_a);
    expect(0, max_data_payload);
    expect(1, 10);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::goodbye);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::local);
}

BOOST_DATA_TEST_CASE(end_of_a_peer_that_is_not_read, ways, polled)
{
    const Poller poller(*node, polled);
    node->pause_reading(at_b, true);
    BOOST_TEST(send(0, 10));
    node->close(at_a, false);
    a.next(Kind::closed);
    round_trips();
    BOOST_TEST(b.is_quiet());
    node->pause_reading(at_b, false);
    expect(0, 10);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::closed_by_peer);
}

// A paused connection that is closed here goes away like any other.
BOOST_DATA_TEST_CASE(end_of_a_paused_connection, ways, polled)
{
    const Poller poller(*node, polled);
    node->pause_reading(at_b, true);
    auto count = fill(max_data_payload);
    BOOST_TEST(count > 0u);
    node->close(at_b);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::local);
    Happening last = a.next();
    while (last.kind == Kind::writable) { // the system may have taken some more meanwhile
        last = a.next();
    }
    BOOST_CHECK(last.kind == Kind::closed);
    BOOST_CHECK(last.reason == Reason::goodbye);
    auto start = std::chrono::steady_clock::now();
    while (node->counters().connections != 0) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() - start < patience);
        std::this_thread::yield();
    }
    BOOST_TEST(b.is_quiet());
}

BOOST_DATA_TEST_CASE(calls_that_lead_nowhere, ways, polled)
{
    const Poller poller(*node, polled);
    std::mutex mutex;
    std::vector<std::string> log;
    set_logger([&](Level, const std::string &text) {
        std::lock_guard lock(mutex);
        log.push_back(text);
    });

    Recorder c(node, port); // does not know data
    auto id = a.connect(port, c.identity());
    c.next(Kind::connect);
    a.next(Kind::accept);
    c.next(Kind::ready);
    BOOST_TEST(node->data(id, {}));
    BOOST_TEST(node->data(12345, {}));
    node->pause_reading(12345, true);
    node->close(id);
    BOOST_CHECK(c.next(Kind::closed).reason == Reason::goodbye);
    a.next(Kind::closed);
    BOOST_TEST(node->data(id, {}));
    set_logger({});
    BOOST_TEST_REQUIRE(log.size() == 1u);
    BOOST_TEST(log[0].find("data() ignored") == 0u);

    auto long_header  = content(0, max_data_header + 1);
    auto long_payload = content(0, max_data_payload + 1);
    auto names_size   = [](const char *expected) {
        return [expected](const std::exception &error) {
            return std::strstr(error.what(), expected) != nullptr;
        };
    };
    BOOST_CHECK_EXCEPTION(node->data(at_a, {.header = long_header}),
                          std::invalid_argument, names_size("size of header is 65"));
    BOOST_CHECK_EXCEPTION(node->data(at_a, {.payload = long_payload}),
                          std::invalid_argument, names_size("size of payload is 65537"));
    BOOST_TEST(b.is_quiet());
}

// Two threads send on one connection as fast as it takes it.
BOOST_DATA_TEST_CASE(several_senders, ways, polled)
{
    const Poller poller(*node, polled);
    constexpr std::uint32_t each = 300;
    std::atomic<unsigned> writable{0};
    a.respond = [&](const Happening &happening) {
        if (happening.kind == Kind::writable) {
            ++writable;
            writable.notify_all();
        }
    };

    auto work = [&](std::uint32_t first) {
        for (std::uint32_t i = first; i < first + each; ++i) {
            auto seen = writable.load();
            while (!send(i, 20000)) {
                writable.wait(seen);
                seen = writable.load();
            }
        }
    };
    auto one                  = std::async(std::launch::async, work, 0);
    auto two                  = std::async(std::launch::async, work, 1000);
    std::uint32_t next_of_one = 0, next_of_two = 1000;
    for (std::uint32_t i = 0; i < 2 * each; ++i) {
        auto arrived = b.next(Kind::data);
        auto &next   = (arrived.recover.epoch < 1000) ? next_of_one : next_of_two;
        BOOST_TEST_REQUIRE(arrived.recover.epoch == next);
        ++next;
    }
    one.get();
    two.get();
}

BOOST_AUTO_TEST_SUITE_END()
