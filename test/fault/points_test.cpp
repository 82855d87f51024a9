// SPDX-License-Identifier: BSD-3-Clause
//
// A process dies at each numbered step of connecting, recovering, going over to TCP and leaving, as the end that connects
// and as the one that is connected to; what it recovers from fails on its own side or the other one, in turns. Its peer gets all operations back, keeps
// nothing of it, and connects to its successor.
//
// This program is compiled with the points in it, see points.hpp; the process that dies is this program again. BE_TEST_POINT
// chooses one number, and then both sides fail.

#define BOOST_TEST_MODULE points
#include "fault/points.hpp"
#include "fault/record.hpp"
#include "fault/restart_life.hpp"
#include "lib/procfs.hpp"

#include "control/node.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace test;

namespace {

// Of the software device, so that what is left of the dead can be seen.
struct Domain {
    Domain()
    {
        ::setenv("SOFTRDMA_DOMAIN", name.c_str(), 1);
    }

    ~Domain()
    {
        for (const auto &path : files()) {
            std::filesystem::remove(path);
        }
    }

    std::vector<std::filesystem::path> files() const
    {
        std::vector<std::filesystem::path> found;
        for (const auto &entry : std::filesystem::directory_iterator("/dev/shm")) {
            if (entry.path().string().ends_with("-" + name)) {
                found.push_back(entry.path());
            }
        }
        return found;
    }

    // In memory.
    size_t bytes() const
    {
        size_t sum = 0;
        for (const auto &path : files()) {
            struct stat status {};
            BOOST_REQUIRE_EQUAL(::stat(path.c_str(), &status), 0);
            sum += static_cast<size_t>(status.st_blocks) * 512;
        }
        return sum;
    }

    const std::string name = "points-" + std::to_string(::getpid());
};

struct Case {
    const Point &point;
    bool connects; // the one that dies
    bool own_failure; // that it recovers from
};

// Until data goes over TCP, or the process is dead.
void fall(Client &client, Life &life, pid_t whose)
{
    const auto lost = [&] { return !client.node.failed.empty(); };
    set_link(whose, false);
    life.load_until([&] { return lost() || life.engine_peer().tcp != nullptr; });
    const uint64_t echoed = life.echoed();
    life.load_until([&] { return lost() || life.echoed() >= echoed + 20; });
}

// Until the process is dead, and its peer has heard of it.
void play(Client &client, Life &life, const Case &what)
{
    if (!life.born()) {
        return; // it connects, and died of it
    }
    life.connect();
    if (what.point.scene != Scene::connect) {
        life.load_until_echo(20);
    }
    const auto order = [&](Life::Order order) {
        life.load_until([&] { return life.order(order) || !client.node.failed.empty(); });
    };
    const pid_t whose = what.own_failure ? life.process().pid() : ::getpid();
    switch (what.point.scene) {
    case Scene::connect:
        break;
    case Scene::recover:
        if (what.own_failure) {
            order(Life::Order::break_path);
        } else {
            (void)life.engine_peer().messages.qp().to_error();
        }
        break;
    case Scene::fall:
        fall(client, life, whose);
        break;
    case Scene::rise:
        fall(client, life, whose);
        if (client.node.failed.empty()) {
            set_link(whose, true);
        }
        break;
    case Scene::cut:
        fall(client, life, whose);
        [[fallthrough]];
    case Scene::resume:
        if (what.own_failure) {
            order(Life::Order::cut_channel);
        } else {
            be::control::Node::acquire()->close(life.engine_peer().connection, false);
        }
        break;
    case Scene::depart:
        order(Life::Order::end);
        break;
    case Scene::bereave:
        life.settle(); // it has nothing to send to who is gone
        life.let_go();
        client.node.close();
        return;
    }
    life.load_until([&] { return !client.node.failed.empty(); });
    life.check_end();
}

void die(Client &client, const Case &what, uint32_t incarnation)
{
    Record record;
    Life life(client.node, client.source, incarnation,
              {.connects    = what.connects,
               .environment = {{"BE_FAULT_POINT", what.point.step},
                               {"BE_FAULT_NTH", std::to_string(what.point.nth)},
                               {"BE_FAULT_RECORD", std::to_string(record.descriptor())}}});
    play(client, life, what);
    const auto dead = [&] { return life.process().wait(0).has_value(); };
    BOOST_REQUIRE_MESSAGE(wait({&client.node}, dead), "it does not come there");
    const int status = *life.process().wait(0);
    BOOST_REQUIRE_MESSAGE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                          "it ended otherwise: " << be::test::describe_status(status));
    BOOST_REQUIRE_EQUAL(record.read(), what.point.step);
    if (what.point.scene >= Scene::fall && what.point.scene <= Scene::rise) {
        set_link(::getpid(), true);
    }
}

// Another process in its place.
void succeed(Client &client, bool connects, uint32_t incarnation)
{
    Life life(client.node, client.source, incarnation, {.connects = connects});
    BOOST_REQUIRE(life.born());
    life.connect();
    life.load_until_echo(20);
    life.finish();
}

std::vector<Case> cases()
{
    const char *chosen = std::getenv("BE_TEST_POINT");
    std::vector<Case> result;
    for (const Point &point : points()) {
        if (chosen != nullptr && point.number != std::strtoul(chosen, nullptr, 10)) {
            continue;
        }
        const bool repaired = point.scene >= Scene::recover && point.scene <= Scene::rise;
        for (const Role role : {dialler, listener}) {
            const bool turn = (point.number % 2 == 0) == (role == dialler);
            for (const bool own : {true, false}) {
                const bool wanted = !repaired || point.own_only ?
                                            own :
                                            chosen != nullptr || own == turn;
                if ((point.role & role) != 0 && wanted) {
                    result.push_back({point, role == dialler, own});
                }
            }
        }
    }
    return result;
}

} // namespace

// What the other starts; alone it does nothing.
BOOST_AUTO_TEST_CASE(server, *boost::unit_test::disabled())
{
    serve();
}

BOOST_AUTO_TEST_CASE(a_process_may_die_at_any_step)
{
    const Domain domain;
    Client client(true);
    uint32_t incarnation = 0;
    // What stays once a first one has come and gone.
    succeed(client, true, ++incarnation);
    succeed(client, false, ++incarnation);
    client.node.failed.clear();
    client.check_clean();
    const size_t descriptors = be::test::footprint(::getpid()).descriptors;
    const size_t bytes       = domain.bytes();
    for (const Case &what : cases()) {
        BOOST_TEST_CONTEXT("point " << what.point.number << ", \"" << what.point.step
                                    << "\", of the end that "
                                    << (what.connects ? "connects" : "is connected to")
                                    << (what.own_failure ? "" : ", the other end fails"))
        {
            if (what.point.scene == Scene::bereave) {
                Client other(true);
                die(other, what, ++incarnation);
            } else {
                die(client, what, ++incarnation);
            }
            client.check_clean();
            client.node.failed.clear();
            succeed(client, what.connects, ++incarnation);
            client.check_clean();
            BOOST_REQUIRE(client.node.failed.empty());
            BOOST_REQUIRE_MESSAGE(wait({&client.node},
                                       [&] {
                                           return be::test::footprint(::getpid())
                                                          .descriptors <= descriptors;
                                       }),
                                  be::test::footprint(::getpid()).descriptors
                                          << " descriptors, there were " << descriptors);
            BOOST_REQUIRE_LE(domain.bytes(), bytes);
        }
    }
    BOOST_CHECK_EQUAL(client.node.metric("rnr"), 0);
}

// The table there is that of the points.
BOOST_AUTO_TEST_CASE(all_points_are_in_the_documentation)
{
    const char *folder = std::getenv("BE_SRCDIR");
    BOOST_REQUIRE(folder != nullptr);
    std::ifstream file(std::string(folder) + "/docs/recovery.md");
    std::vector<std::string> rows;
    for (std::string line; std::getline(file, line);) {
        rows.push_back(line);
    }
    for (const Point &point : points()) {
        const std::string start = "| " + std::to_string(point.number) + " | " +
                                  point.step + " |";
        BOOST_CHECK_MESSAGE(std::any_of(rows.begin(), rows.end(),
                                        [&](const std::string &row) {
                                            return row.starts_with(start);
                                        }),
                            "no row \"" << start << "\"");
    }
}
