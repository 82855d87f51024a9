// SPDX-License-Identifier: BSD-3-Clause

#include "control/logger.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <vector>

using namespace be::control;
using namespace std::chrono_literals;

namespace {

struct Captured {
    std::vector<std::string> lines;

    Captured()
    {
        set_logger([this](Level, const std::string &text) { lines.push_back(text); });
    }

    ~Captured()
    {
        set_logger({});
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(logger)

BOOST_AUTO_TEST_CASE(limiter_counts_what_it_leaves_out)
{
    LogLimiter limiter;
    LogLimiter::Time start{1h};

    for (unsigned i = 0; i < LogLimiter::burst; ++i) {
        BOOST_TEST(limiter.admit(start).pass);
    }
    for (unsigned i = 0; i < 1000; ++i) {
        BOOST_TEST(!limiter.admit(start + LogLimiter::interval - 1ns).pass);
    }

    auto verdict = limiter.admit(start + LogLimiter::interval);
    BOOST_TEST(verdict.pass);
    BOOST_TEST(verdict.left_out == 1000u);
    BOOST_TEST(limiter.admit(start + LogLimiter::interval).left_out == 0u);
}

BOOST_AUTO_TEST_CASE(messages_reach_the_logger)
{
    Captured captured;

    log(Level::debug, "one");
    log(Level::error, "two");
    BOOST_TEST(captured.lines == (std::vector<std::string>{"one", "two"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(floods_are_limited)
{
    Captured captured;

    for (int i = 0; i < 1000; ++i) {
        log_limited(Level::warning, "flood");
    }
    BOOST_TEST(captured.lines.size() == LogLimiter::burst);

    log(Level::warning, "not limited");
    BOOST_TEST(captured.lines.back() == "not limited");
}

BOOST_AUTO_TEST_CASE(a_logger_that_throws_harms_nobody)
{
    int calls = 0;
    set_logger([&](Level, const std::string &) {
        ++calls;
        throw std::runtime_error("no");
    });
    BOOST_CHECK_NO_THROW(log(Level::error, "lost"));
    BOOST_TEST(calls == 1);
    set_logger({});
}

BOOST_AUTO_TEST_SUITE_END()
