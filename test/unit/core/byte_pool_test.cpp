// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's byte credit by hand: a quantum is 4 units, a unit takes 1 ns.

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <vector>

#include "core/byte_pool.hpp"

using namespace be::core;

namespace {

BytePoolConfig small_config()
{
    BytePoolConfig config;

    config.unit        = 1;
    config.quantum     = 4;
    config.run         = 16;
    config.bonus       = 0;
    config.late        = 8;
    config.least_bonus = 1;
    config.loop_ns     = 100;
    config.unit_ps     = 1000;
    config.active_ns   = 1000;
    config.suspect_ns  = 1000;
    return config;
}

struct Fixture {
    explicit Fixture(const BytePoolConfig &config = small_config()) : pool(config)
    {
    }

    ~Fixture()
    {
        BOOST_TEST(pool.check() == "");
    }

    /* What it holds. */
    uint32_t held(uint32_t channel) const
    {
        return pool.granted(channel) - pool.arrived(channel);
    }

    void add(uint32_t count)
    {
        for (uint32_t channel = 0; channel < count; ++channel) {
            pool.add(channel, now);
        }
    }

    void request(uint32_t channel, uint32_t units)
    {
        pool.request(channel, pool.granted(channel) + units, now);
    }

    std::vector<uint32_t> revokes()
    {
        std::vector<uint32_t> list;

        for (uint32_t i = pool.next_revoke(); i != BytePool::none;
             i          = pool.next_revoke()) {
            list.push_back(i);
        }
        return list;
    }

    BytePool pool;
    uint64_t now = 1;
};

using List = std::vector<uint32_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(byte_pool)

BOOST_AUTO_TEST_CASE(grants_quanta_in_turn_up_to_run)
{
    Fixture f;

    f.add(3);
    f.request(0, 100);
    BOOST_TEST(f.held(0) == 16u); /* alone: all of it */
    f.request(1, 100);
    f.request(2, 100);
    BOOST_TEST(f.held(1) == 0u);
    for (int i = 0; i < 4; ++i) {
        BOOST_TEST(f.pool.arrived(0, 4, f.now += 4));
    }
    BOOST_TEST(f.held(0) + f.held(1) + f.held(2) == 16u);
    BOOST_TEST(f.held(1) >= 4u);
    BOOST_TEST(f.held(2) >= 4u);
}

BOOST_AUTO_TEST_CASE(more_than_was_granted_is_refused)
{
    Fixture f;

    f.add(1);
    f.request(0, 3);
    BOOST_TEST(!f.pool.arrived(0, 4, f.now));
    BOOST_TEST(f.held(0) == 3u);
    BOOST_TEST(f.pool.arrived(0, 3, f.now));
    BOOST_TEST(!f.pool.arrived(7, 1, f.now)); /* nobody */
    BOOST_TEST(!f.pool.returned(0, 1, f.now));
}

BOOST_AUTO_TEST_CASE(late_channels_hold_up_nobody)
{
    Fixture f;

    f.add(2);
    f.request(0, 8);
    f.request(1, 100);
    BOOST_TEST(f.held(1) == 8u); /* they share `run` */
    f.pool.arrived(1, 8, f.now);
    f.now = f.pool.due_ns();
    f.pool.tick(f.now);
    BOOST_TEST(f.pool.lates() >= 1u);
    BOOST_TEST(f.held(0) == 8u); /* what it has stays granted */
    BOOST_TEST(f.held(1) == 16u); /* all of `run` is for others */
    BOOST_TEST(f.pool.arrived(0, 8, f.now)); /* it was only slow */
}

/* Whose grants keep arriving late is held to little at a time, for the sake of others; alone it has what it can have
 * without being in anybody's way. */
BOOST_AUTO_TEST_CASE(a_late_channel_has_what_nobody_else_wants)
{
    Fixture f;

    f.add(2);
    f.request(0, 1000);
    for (int i = 0; i < 10; ++i) { /* its cap goes down to the quantum */
        f.now = f.pool.due_ns();
        f.pool.tick(f.now);
        BOOST_TEST(f.pool.arrived(0, f.held(0), f.now += 200));
    }
    BOOST_TEST(f.held(0) == 8u); /* what fits `late` */
    f.request(1, 1000);
    f.now = f.pool.due_ns();
    f.pool.tick(f.now);
    BOOST_TEST(f.held(0) == 8u);
    BOOST_TEST(f.held(1) == 16u); /* all of `run` */
    BOOST_TEST(f.pool.arrived(0, 8, f.now += 200));
    BOOST_TEST(f.held(0) <= 4u);
}

BOOST_AUTO_TEST_CASE(silent_channels_are_suspected_when_late_is_full)
{
    Fixture f;

    f.add(4);
    for (uint32_t channel = 0; channel < 4; ++channel) {
        f.request(channel, 100);
    }
    BOOST_TEST(f.pool.outstanding() == 16u);
    for (int i = 0; (i < 100) && (f.pool.due_ns() != ~uint64_t{0}); ++i) {
        f.now = std::max(f.now + 1, f.pool.due_ns());
        f.pool.tick(f.now);
        while (true) {
            uint32_t suspect = f.pool.next_suspect();

            if (suspect == BytePool::none) {
                break;
            }
            f.pool.remove(suspect, f.now);
        }
    }
    BOOST_TEST(f.pool.outstanding() == 0u); /* all were silent */
}

BOOST_AUTO_TEST_CASE(removal_gives_back_exactly_what_was_held)
{
    Fixture f;

    f.add(2);
    f.request(0, 100);
    f.request(1, 100);
    f.pool.remove(0, f.now);
    BOOST_TEST(!f.pool.member(0));
    BOOST_TEST(f.pool.outstanding() == f.held(1));
    BOOST_TEST(f.held(1) == 16u);
    f.pool.remove(0, f.now); /* again: nothing */
    BOOST_TEST(f.pool.outstanding() == 16u);
}

BOOST_AUTO_TEST_CASE(idle_channels_lend_their_bonus)
{
    BytePoolConfig config = small_config();

    config.bonus = 12;
    Fixture f(config);

    f.add(1);
    BOOST_TEST(f.held(0) == 12u); /* ready for a burst */
    f.pool.add(1, f.now);
    BOOST_TEST(f.held(1) == 0u);
    f.now += 2000; /* channel 0 is idle by now */
    f.request(1, 4);
    f.pool.arrived(1, 4, f.now);
    BOOST_TEST(f.revokes() == List{0}, boost::test_tools::per_element());
    BOOST_TEST(f.pool.kept(0) == 0u);
    BOOST_TEST(f.pool.returned(0, 12, f.now));
    BOOST_TEST(f.held(0) == 0u);
    f.request(1, 4);
    f.pool.arrived(1, 4, f.now);
    BOOST_TEST(f.held(1) == 12u); /* it is the active one now */
}

BOOST_AUTO_TEST_CASE(late_repeated_and_reordered_words_change_nothing)
{
    BytePoolConfig config = small_config();

    config.first_total = 0xfffffff8u; /* totals wrap */
    Fixture f(config);

    f.add(1);
    f.request(0, 10);
    uint32_t demand = f.pool.granted(0);
    f.pool.request(0, demand - 6, f.now);
    f.pool.request(0, demand, f.now);
    BOOST_TEST(f.held(0) == 10u);
    BOOST_TEST(f.pool.returned(0, 3, f.now));
    BOOST_TEST(f.pool.returned(0, 3, f.now));
    BOOST_TEST(!f.pool.returned(0, 2, f.now));
    BOOST_TEST(f.held(0) == 7u);
}

BOOST_AUTO_TEST_CASE(probing_finds_a_short_path)
{
    BytePoolConfig config = small_config();

    config.run     = 400;
    config.loop_ns = 400;
    Fixture f(config);

    /* The path takes 100 ns, so that 100 units and a quantum are enough. */
    f.add(1);
    for (uint64_t step = 0; step < 2'000'000; ++step) {
        f.now += 4;
        f.pool.request(0, f.pool.arrived(0) + 4000, f.now);
        if (f.held(0) >= 100) {
            f.pool.arrived(0, 4, f.now);
        }
    }
    BOOST_TEST(f.pool.path_delay_ns() < 250u);
    BOOST_TEST(f.pool.run_limit() < 250u);
    BOOST_TEST(f.pool.run_limit() >= 100u);
}

/* To probe costs part of the line: seldom, however long a loop takes. */
BOOST_AUTO_TEST_CASE(a_slow_port_is_probed_seldom)
{
    BytePoolConfig config = small_config();

    config.run     = 40;
    config.loop_ns = 1'000'000;
    config.unit_ps = 25'000'000;
    Fixture f(config);
    unsigned held_back = 0;

    f.add(1);
    for (unsigned step = 0; step < 20'000; ++step) { /* of a quantum's time: 2 s */
        f.now += 100'000;
        f.pool.request(0, f.pool.arrived(0) + 4000, f.now);
        f.pool.arrived(0, 4, f.now);
        held_back += f.held(0) + config.quantum <= f.pool.run_limit();
    }
    BOOST_TEST(held_back > 0u);
    BOOST_TEST(held_back < 1000u);
}

BOOST_AUTO_TEST_CASE(derives_from_rate_and_delay)
{
    BytePoolConfig config = BytePoolConfig::derive(100, 11'400);

    BOOST_TEST(config.unit * config.quantum == 16384u);
    BOOST_TEST(config.run == 10 * config.quantum);
    BOOST_TEST(config.unit_ps == 20480u);
    BytePool pool(config); /* accepts it */
    BOOST_TEST(pool.enabled());
    for (double gbps : {1.0, 10.0, 25.0, 400.0}) {
        for (uint64_t loop_ns : {1000u, 5000u, 100'000u}) {
            BytePool any(BytePoolConfig::derive(gbps, loop_ns));

            BOOST_TEST(any.budget() >= 4 * any.config().quantum);
        }
    }
}

BOOST_AUTO_TEST_CASE(bad_configurations_are_explained)
{
    auto says = [](const char *text) {
        return [text](const std::invalid_argument &error) {
            return std::string(error.what()).find(text) != std::string::npos;
        };
    };
    BytePoolConfig config = small_config();

    config.quantum = 17;
    BOOST_CHECK_EXCEPTION(BytePool{config}, std::invalid_argument,
                          says("byte pool quantum is 17, expected 1 to run"));
    config      = small_config();
    config.late = 3;
    BOOST_CHECK_EXCEPTION(BytePool{config}, std::invalid_argument, says("late is 3"));
    config         = small_config();
    config.loop_ns = 0;
    BOOST_CHECK_EXCEPTION(BytePool{config}, std::invalid_argument, says("loop_ns is 0"));
    config      = small_config();
    config.unit = 0;
    BOOST_CHECK_EXCEPTION(BytePool{config}, std::invalid_argument, says("unit is 0"));
    config       = small_config();
    config.bonus = 1u << 22;
    BOOST_CHECK_EXCEPTION(BytePool{config}, std::invalid_argument,
                          says("run + bonus + late"));
}

BOOST_AUTO_TEST_SUITE_END()
