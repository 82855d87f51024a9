// SPDX-License-Identifier: BSD-3-Clause
//
// This release next to others: the next minor one, which offers a feature that nobody here knows, works with it; another
// major one is refused, and both ends say why. Each release is once the one that connects and once the other.

#define BOOST_TEST_MODULE upgrade
#include "control/raw_socket.hpp"
#include "fault/record.hpp"
#include "fault/restart_life.hpp"

#include <mutex>

using namespace test;

namespace {

std::string program(const char *name)
{
    const char *folder = std::getenv("BE_BUILDDIR");
    BOOST_REQUIRE(folder != nullptr);
    return std::string(folder) + "/test/fault/" + name;
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// What this process logs. The control thread may write.
struct Log {
    Log()
    {
        be_log_set(
                [](be_log_level_t, const char *text) {
                    const std::lock_guard guard(mutex());
                    lines() += std::string(text) + "\n";
                },
                BE_LOG_INFO);
    }

    ~Log()
    {
        be_log_set(nullptr, BE_LOG_WARN);
    }

    static std::string text()
    {
        const std::lock_guard guard(mutex());
        return lines();
    }

private:
    static std::mutex &mutex()
    {
        static std::mutex instance;
        return instance;
    }

    static std::string &lines()
    {
        static std::string instance;
        return instance;
    }
};

// The failure of a queue pair is repaired under load.
void recover(Client &client, Life &life, const std::function<void()> &fail)
{
    const uint64_t before = client.node.metric("recoveries");
    fail();
    life.load_until([&] {
        return client.node.metric("recoveries") > before &&
               life.engine_peer().state == be::engine::Peer::State::ready;
    });
}

void work_with_next_minor(bool connects)
{
    Client client;
    const std::string other = program("next_minor");
    Life life(client.node, client.source, 1,
              {.connects = connects, .program = other.c_str()});
    BOOST_REQUIRE(life.born());
    life.connect();
    life.load_until_echo(100);

    // It is what it is to be.
    be::control::test::RawSocket socket(life.engine_peer().control);
    const auto offer = socket.receive_as<be::control::Challenge>().offer;
    BOOST_CHECK_EQUAL(offer.major, be::control::protocol_major);
    BOOST_CHECK_EQUAL(offer.minor, be::control::protocol_minor + 1);
    BOOST_CHECK_EQUAL(offer.features, 1ull << 40);
    socket.close();

    recover(client, life, [&] { (void)life.engine_peer().messages.qp().to_error(); });
    recover(client, life, [&] {
        life.load_until([&] { return life.order(Life::Order::break_path); });
    });
    life.finish();
    BOOST_CHECK_EQUAL(client.node.metric("peers_failed"), 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_next_minor_release_works_with_this_one)
{
    for (const bool connects : {false, true}) {
        BOOST_TEST_CONTEXT("the next release " << (connects ? "connects" : "listens"))
        {
            work_with_next_minor(connects);
        }
    }
}

BOOST_AUTO_TEST_CASE(another_major_release_that_listens_is_refused)
{
    const std::string why =
            "protocol version 2.0 cannot work with 1.1: major versions differ";
    Client client;
    Record record;
    const std::string other = program("next_major");
    Life life(client.node, client.source, 1,
              {.program = other.c_str(), .output = record.descriptor()});
    BOOST_REQUIRE(life.born());
    life.connect();
    BOOST_REQUIRE(wait({&client.node}, [&] { return !client.node.failed.empty(); }));
    BOOST_CHECK_EQUAL(client.node.failed.back().second, BE_ERR_UNREACHABLE);
    BOOST_CHECK_MESSAGE(contains(life.failure(), why), life.failure());
    BOOST_CHECK_MESSAGE(wait({&client.node},
                             [&] {
                                 return contains(record.read(),
                                                 "peer refused (version mismatch): " +
                                                         why);
                             }),
                        record.read());
}

BOOST_AUTO_TEST_CASE(another_major_release_that_connects_is_refused)
{
    const std::string why =
            "protocol version 1.1 cannot work with 2.0: major versions differ";
    const Log log;
    Client client;
    Record record;
    const std::string other = program("next_major");
    Life life(client.node, client.source, 1,
              {.connects = true, .program = other.c_str(), .output = record.descriptor()});
    BOOST_CHECK(!life.born());
    BOOST_CHECK_MESSAGE(contains(record.read(), "cannot connect: ") &&
                                contains(record.read(), why),
                        record.read());
    BOOST_CHECK_MESSAGE(wait({&client.node},
                             [&] {
                                 return contains(Log::text(),
                                                 "peer refused (version mismatch): " +
                                                         why);
                             }),
                        Log::text());
}
