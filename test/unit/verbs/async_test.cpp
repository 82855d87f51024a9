// SPDX-License-Identifier: BSD-3-Clause
//
// Asynchronous events of the real software device, caused by faults on command.
#include "soft_fixture.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace be::verbs;
using namespace be::verbs::test;

namespace {

// The program `softrdma` of the build tree; empty: there is none.
std::string tool()
{
    const char *folder = getenv("BE_BUILDDIR");
    if (folder == nullptr) {
        return {};
    }
    const std::string file = std::string(folder) + "/src/softrdma/softrdma";
    return (access(file.c_str(), X_OK) == 0) ? file : std::string();
}

boost::test_tools::assertion_result faults_can_be_had(boost::unit_test::test_unit_id unit)
{
    if (tool().empty()) {
        boost::test_tools::assertion_result none(false);
        none.message() << "no program softrdma in BE_BUILDDIR";
        return none;
    }
    return soft_device_is_there(unit);
}

struct Faulty : SoftFixture {
    AsyncEvents events{a.context};

    // Has the fault happen to this process.
    static void fault(const std::string &words)
    {
        const std::string command = "'" + tool() + "' fault " + words +
                                    " pid=" + std::to_string(getpid()) + " >/dev/null";
        BOOST_TEST_REQUIRE(std::system(command.c_str()) == 0, command);
    }

    // The next event of this kind; others before it are passed over.
    AsyncEvent wait(AsyncEvent::Kind kind)
    {
        pollfd entry = {events.fd(), POLLIN, 0};
        while (poll(&entry, 1, 20000) == 1) {
            while (const auto event = events.next()) {
                if (event->kind == kind) {
                    return *event;
                }
            }
        }
        throw std::runtime_error("the event does not come");
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(async, *boost::unit_test::precondition(faults_can_be_had))

BOOST_FIXTURE_TEST_CASE(failed_queue_pair_is_named, Faulty)
{
    connect();
    BOOST_TEST(!events.next());
    fault("qp-error qpn=" + std::to_string(a.qp.number()));
    const AsyncEvent event = wait(AsyncEvent::Kind::queue_pair_failed);
    BOOST_TEST((event.type == IBV_EVENT_QP_FATAL));
    BOOST_TEST(event.qpn == a.qp.number());
    BOOST_TEST(event.object == a.qp.get());
    BOOST_TEST((a.qp.state() == IBV_QPS_ERR));

    // The fixture destroys the queue pair: it would wait for an acknowledgement that is owed.
}

BOOST_FIXTURE_TEST_CASE(port_goes_down_and_comes_back, Faulty)
{
    fault("link-down");
    const AsyncEvent down = wait(AsyncEvent::Kind::port_down);
    BOOST_TEST((down.subject == AsyncEvent::Subject::port));
    BOOST_TEST(down.port == 1);
    fault("link-up");
    BOOST_TEST(wait(AsyncEvent::Kind::port_up).port == 1);
}

BOOST_AUTO_TEST_SUITE_END()
