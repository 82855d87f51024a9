// SPDX-License-Identifier: BSD-3-Clause
#include "idle.h"

#include "clock.h"

#include <algorithm>
#include <sched.h>

namespace softrdma {
namespace {

// Another thread that runs takes at least two changes of context, of about 1.5 us each; without one, sched_yield()
// takes 0.5 to 1.5 us.
constexpr uint64_t nobody_else_ns = 2500;

struct idleness {
    uint32_t polls = 0; // empty ones in a row
    uint32_t times = 1; // the patience asked for
};

// Initial-exec: a call of the loader for each poll is too much.
__attribute__((tls_model("initial-exec"))) constinit thread_local idleness mine;

} // namespace

void polled_something()
{
    mine.polls = 0;
}

void polled_nothing(uint32_t patience)
{
    if ((patience == 0) || (++mine.polls < uint64_t{patience} * mine.times)) {
        return;
    }
    mine.polls      = 0;
    uint64_t before = now_ns();
    sched_yield();
    bool alone = now_ns() - before < nobody_else_ns;
    mine.times = alone ? std::min(2 * mine.times, longest_patience) : 1;
}

} // namespace softrdma
