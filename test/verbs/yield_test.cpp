// SPDX-License-Identifier: BSD-3-Clause
//
// A poller of an empty queue gives the processor away after its patience, more seldom while nobody else wants it, and
// never when told not to.
#include <boost/test/unit_test.hpp>

#include "endpoint.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace softtest;

namespace {
std::atomic<unsigned> yields{0}; // the service thread yields, too

enum class others {
    real,
    none, // who yields goes on at once
    some // who yields waits for somebody else
};
std::atomic<others> world{others::real};

void run_somebody_else()
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
}

} // namespace

// In place of the C library's, also for the device.
extern "C" int sched_yield()
{
    ++yields;
    if (world == others::some) {
        run_somebody_else();
    }
    if (world != others::real) {
        return 0;
    }
    return static_cast<int>(syscall(SYS_sched_yield));
}

BOOST_AUTO_TEST_SUITE(yield)

BOOST_AUTO_TEST_CASE(after_as_many_empty_polls_as_were_asked_for)
{
    endpoint self;
    const auto set = reinterpret_cast<int (*)(ibv_cq *, uint32_t)>(
            dlsym(verbs().library, "softrdma_cq_set_yield"));
    BOOST_REQUIRE(set != nullptr);
    const auto count = [&](unsigned polls) {
        ibv_wc completion;
        yields = 0;
        while (polls-- != 0) {
            BOOST_REQUIRE_EQUAL(ibv_poll_cq(self.cq, 1, &completion), 0);
        }
        return yields.load();
    };

    BOOST_CHECK_EQUAL(set(self.cq, 50), 0);
    world = others::some;
    (void)count(16 * 50); // whatever there was before
    BOOST_CHECK_EQUAL(count(500), 10u);
    world = others::none;
    (void)count(16 * 50);
    BOOST_CHECK_LE(count(8000),
                   40u); // 10, but for interruptions: those it takes for somebody else
    world = others::some;
    (void)count(16 * 50);
    BOOST_CHECK_EQUAL(count(500), 10u);
    world = others::real;
    BOOST_CHECK_EQUAL(set(self.cq, 0), 0);
    BOOST_CHECK_EQUAL(count(5000), 0u);

    ibv_context other{};
    ibv_cq foreign{};
    foreign.context = &other;
    BOOST_CHECK_EQUAL(set(&foreign, 1), EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()
