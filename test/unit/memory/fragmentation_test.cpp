// SPDX-License-Identifier: BSD-3-Clause
//
// A day of a service: messages of very different sizes, load that comes and goes, blocks
// that live for moments and blocks that stay. How much more is mapped than is in use when
// the load is highest, and what rounding costs.
#include "fake_registrar.hpp"
#include "sizes.hpp"

#include "memory/heap.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

struct Message {
    void *address = nullptr;
    size_t size   = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_day_fragments_little)
{
    std::mt19937_64 random(5);
    FakeRegistrar registrar;
    HeapConfig config;
    config.arena       = small_arena(64 * mebi, SIZE_MAX);
    config.arena.first = 4 * mebi;
    Heap heap(config, registrar.callbacks());

    std::vector<Message> messages;
    size_t live        = 0; // bytes asked for
    double worst       = 0;
    const double steps = 200000;
    for (double step = 0; step < steps; ++step) {
        // Four busy times, with quiet ones before each.
        const double phase  = 4 * step / steps * 2 * std::numbers::pi;
        const double target = (160.0 - 96.0 * std::cos(phase)) * mebi;
        while ((static_cast<double>(live) > target) && !messages.empty()) {
            // Young ones go first, mostly.
            const size_t age = std::min<size_t>(messages.size() - 1,
                                                log_uniform(random, 0, 14) - 1);
            Message &gone    = messages[messages.size() - 1 - age];
            heap.free(gone.address, gone.size);
            live -= gone.size;
            gone = messages.back();
            messages.pop_back();
        }
        Message message;
        message.size    = message_size(random);
        message.address = heap.allocate(message.size);
        BOOST_TEST_REQUIRE(message.address != nullptr);
        live += message.size;
        messages.push_back(message);
        // Busy: near the top of the second and later waves.
        if ((step > steps / 4) && (static_cast<double>(live) > 250.0 * mebi)) {
            worst = std::max(worst, static_cast<double>(heap.stats().arena.mapped) /
                                            static_cast<double>(live));
        }
    }
    BOOST_TEST_MESSAGE("mapped / live at the busiest times: " << worst);
    BOOST_TEST(worst > 1.0);
    BOOST_TEST(worst <= 1.3);

    const HeapStats stats = heap.stats();
    double requested = 0, given = 0;
    for (unsigned i = 0; i < class_count; ++i) {
        requested += static_cast<double>(stats.classes[i].requested);
        given += static_cast<double>(stats.classes[i].allocations) *
                 static_cast<double>(class_size(i));
    }
    BOOST_TEST_MESSAGE("lost to rounding: " << 100 * (1 - requested / given) << " %");
    BOOST_TEST(1 - requested / given <= 0.125);

    for (const Message &message : messages) {
        heap.free(message.address, message.size);
    }
    heap.trim(0);
    BOOST_TEST(heap.stats().arena.mapped == 0u);
}
