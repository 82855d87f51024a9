// SPDX-License-Identifier: BSD-3-Clause
//
// Who has nothing to do uses no CPU, and wakes up when there is something.
#include "fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

#include <time.h>

namespace be::test {

namespace {

double process_cpu_seconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void check_idle(Progress progress)
{
    constexpr double window = 1; // seconds
    Runtime server_runtime(RuntimeOptions{.threads = 2, .progress = progress});
    Server server(server_runtime);
    server.add("echo", [](const Request &request) { return request.body(); });
    server.start();
    Runtime runtime(RuntimeOptions{.progress = progress});
    Channel channel(runtime, channel_to({server.address()}));

    for (unsigned round = 0; round < 2; round++) {
        BOOST_TEST(channel.call("echo", Body::copy("x")).ok());
        Event answered;
        channel.start("echo", {}, {}, [&](Reply) { answered.set(); });
        BOOST_TEST(answered.wait());
        // the threads fall asleep; what they use until then is not what is meant
        std::this_thread::sleep_for(50ms);
        const double before = process_cpu_seconds();
        std::this_thread::sleep_for(std::chrono::duration<double>(window));
        const double used = process_cpu_seconds() - before;
        BOOST_TEST(used < window / 100);
        BOOST_TEST_MESSAGE("idle: " << used / window * 100 << " % of a core");
    }
    BOOST_TEST(channel.call("echo", Body::copy("awake")).value().text() == "awake");
}

} // namespace

BOOST_AUTO_TEST_SUITE(idle)

BOOST_AUTO_TEST_CASE(event_driven_threads_sleep)
{
    check_idle(Progress::event_driven);
}

BOOST_AUTO_TEST_CASE(adaptive_threads_sleep)
{
    check_idle(Progress::adaptive);
}

BOOST_AUTO_TEST_CASE(polling_threads_answer_too)
{
    Runtime server_runtime(RuntimeOptions{.progress = Progress::polling, .pin = true});
    Server server(server_runtime);
    server.add("echo", [](const Request &request) { return request.body(); });
    server.start();
    Runtime runtime(RuntimeOptions{.progress = Progress::polling, .pin = true});
    Channel channel(runtime, channel_to({server.address()}));
    for (unsigned i = 0; i < 20; i++) {
        BOOST_TEST(channel.call("echo", Body::copy("x")).ok());
    }
    for (const std::string &note : runtime.notes()) {
        BOOST_TEST(note.starts_with("thread "), note);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
