// SPDX-License-Identifier: BSD-3-Clause
//
// A server is killed under load and started again, many times; its client stays. The client hears of each death soon,
// gets every operation back once, and goes on with the next incarnation; nothing of one reaches another, and nothing is left of
// any. A server that is stopped for a second has not died, and one that says goodbye is no failure.
//
// BE_TEST_RESTARTS sets how often. The server is this program again, see serve().

#define BOOST_TEST_MODULE restart
#include "engine/world.hpp"
#include "fault/restart_life.hpp"
#include "lib/procfs.hpp"

#include <algorithm>
#include <cstdio>
#include <sys/wait.h>

using namespace test;

namespace {

using Clock = std::chrono::steady_clock;

// Of times, in milliseconds. On a machine with nothing else to do the median is 20 ms at most; it may be busy.
class Times {
public:
    void add(Clock::time_point start)
    {
        m_values.push_back(
                std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }

    void report(const char *what)
    {
        std::sort(m_values.begin(), m_values.end());
        const auto at = [&](double share) {
            return m_values[static_cast<size_t>(
                    share * static_cast<double>(m_values.size() - 1))];
        };
        std::printf("# %s: p50 %.2f ms, p99 %.2f ms, max %.2f ms, %zu times\n", what,
                    at(0.5), at(0.99), at(1), m_values.size());
        BOOST_CHECK_LE(at(0.5), 200);
    }

private:
    std::vector<double> m_values;
};

void kill_under_load(Client &client, Life &life, Times &deaths)
{
    life.load_until_echo(100 + client.node.metric("messages_sent") % 900);
    BOOST_REQUIRE(client.node.failed.empty());
    life.process().signal(SIGKILL);
    const auto start = Clock::now();
    life.load_until([&] { return !client.node.failed.empty(); });
    deaths.add(start);
    BOOST_REQUIRE_EQUAL(client.node.failed.size(), 1);
    BOOST_CHECK_EQUAL(client.node.failed[0].second, BE_ERR_PEER_FAILED);
    life.check_end();
    const auto status = life.process().wait(20);
    BOOST_REQUIRE(status.has_value());
    BOOST_REQUIRE_MESSAGE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL,
                          "the server ended by itself: "
                                  << be::test::describe_status(*status));
}

} // namespace

// What the others start; alone it does nothing.
BOOST_AUTO_TEST_CASE(server, *boost::unit_test::disabled())
{
    serve();
}

BOOST_AUTO_TEST_CASE(killed_and_started_again)
{
    const char *text     = std::getenv("BE_TEST_RESTARTS");
    const unsigned count = text == nullptr ? 100 : std::max(4, std::atoi(text));
    Client client;
    Times deaths, returns;
    std::size_t descriptors = 0;
    for (unsigned i = 1; i <= count; ++i) {
        {
            // Either end connects first, in turns.
            Life life(client.node, client.source, i, {.connects = i % 2 == 0});
            BOOST_REQUIRE(life.born());
            const auto start = Clock::now();
            life.connect();
            life.load_until_echo(1);
            returns.add(start);
            kill_under_load(client, life, deaths);
        }
        client.node.failed.clear();
        client.check_clean();
        if (i <= count / 4) { // what is left of the dead goes at its own pace
            descriptors = std::max(descriptors,
                                   be::test::footprint(::getpid()).descriptors);
        }
    }
    const bool closed = wait({&client.node}, [&] {
        return be::test::footprint(::getpid()).descriptors <= descriptors;
    });
    std::string open;
    for (const std::string &each : be::test::descriptors(::getpid())) {
        open += " " + each;
    }
    BOOST_CHECK_MESSAGE(closed, "not more than "
                                        << descriptors
                                        << " descriptors were expected:" << open);
    BOOST_CHECK_EQUAL(client.node.metric("rnr"), 0);
    deaths.report("from the death of the server to the error");
    returns.report("from the address of its successor to the first answer");
}

BOOST_AUTO_TEST_CASE(stopped_is_not_dead)
{
    Client client;
    Life life(client.node, client.source, 1, {});
    BOOST_REQUIRE(life.born());
    life.connect();
    life.load_until_echo(1000);
    life.process().signal(SIGSTOP);
    const auto start = Clock::now();
    life.load_until([&] { return Clock::now() - start >= std::chrono::seconds(1); });
    life.process().signal(SIGCONT);
    life.load_until_echo(2000);
    life.finish();
    BOOST_CHECK(client.node.failed.empty());
    BOOST_CHECK_EQUAL(client.node.metric("peers_failed"), 0);
}

// Nothing goes over TCP while it is, and nothing is lost.
BOOST_AUTO_TEST_CASE(stopped_on_tcp_is_not_dead)
{
    Client client(true);
    Life life(client.node, client.source, 1, {});
    BOOST_REQUIRE(life.born());
    life.connect();
    life.load_until_echo(100);
    set_link(::getpid(), false);
    life.load_until([&] { return life.engine_peer().tcp != nullptr; });
    life.load_until_echo(life.echoed() + 100);
    life.process().signal(SIGSTOP);
    const auto start = Clock::now();
    life.load_until([&] { return Clock::now() - start >= std::chrono::seconds(1); });
    life.process().signal(SIGCONT);
    life.load_until_echo(life.echoed() + 100);
    set_link(::getpid(), true);
    life.load_until([&] { return client.node.metric("fallback_returns") == 1; });
    life.load_until_echo(life.echoed() + 100);
    life.finish();
    BOOST_CHECK(client.node.failed.empty());
    BOOST_CHECK_EQUAL(client.node.metric("peers_failed"), 0);
}

// As over RDMA: one that stands still for UCX_BE_PEER_TIMEOUT is lost, with all that was sent to it.
BOOST_AUTO_TEST_CASE(stopped_on_tcp_for_good_is_lost)
{
    Client client(true);
    {
        Life life(client.node, client.source, 1, {});
        BOOST_REQUIRE(life.born());
        life.connect();
        life.load_until_echo(100);
        set_link(life.process().pid(), false);
        life.load_until([&] { return life.engine_peer().tcp != nullptr; });
        life.load_until_echo(life.echoed() + 100);
        life.process().signal(SIGSTOP);
        life.load_until([&] { return !client.node.failed.empty(); });
        BOOST_CHECK_EQUAL(client.node.failed[0].second, BE_ERR_PEER_FAILED);
        life.check_end();
        life.process().kill();
    }
    client.node.failed.clear();
    client.check_clean();
}

BOOST_AUTO_TEST_CASE(goodbye_is_no_error)
{
    Client client;
    for (unsigned i = 1; i <= 4; ++i) {
        {
            Life life(client.node, client.source, i, {.connects = i % 2 == 0});
            BOOST_REQUIRE(life.born());
            life.connect();
            life.load_until_echo(100);
            life.finish();
            BOOST_REQUIRE(wait({&client.node}, [&] {
                return client.node.metric("peers_departed") == i;
            }));
        }
        client.check_clean();
        BOOST_CHECK(client.node.failed.empty());
    }
    BOOST_CHECK_EQUAL(client.node.metric("peers_failed"), 0);
}
