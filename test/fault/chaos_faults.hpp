// SPDX-License-Identifier: BSD-3-Clause
//
// Faults at random moments in the processes of the chaos test: one every 20 to 80 ms, of a random kind at a random process.

#pragma once

#include "chaos_member.hpp"

#include "lib/process.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace be::test {

class ChaosFaults {
public:
    struct Target {
        const Process *process;
        const Channel *channel;
    };

    using Clock = std::chrono::steady_clock;

    enum class Kind : std::uint8_t {
        break_all, // all queue pairs of a process, by the device
        break_one, // one of them
        break_inside, // one, by the application: no event tells of it
        link_down,
        completion_delay,
        stall,
        loss,
        cut, // of a side channel
        stop, // of a process
        link_gone // for long
    };
    static constexpr unsigned kinds = 10;
    static const char *name(Kind kind);

    // `chosen` holds a digit for each kind that there is to be, as it stands above; `tool` is the path of softrdma.
    ChaosFaults(std::uint64_t seed, const std::string &chosen, std::string tool,
                std::vector<Target> targets, const ChaosBoard &board);
    ChaosFaults(const ChaosFaults &)            = delete;
    ChaosFaults &operator=(const ChaosFaults &) = delete;

    // From now on.
    void start();
    // Begins and ends what is due.
    void turn();
    // When there is something to do.
    Clock::time_point due() const noexcept;
    // Takes a process its device, for good. Returns whose it was; chaos_ends: try again, somebody stands still.
    unsigned remove_device();
    // No more, and what lasts is over when it returns.
    void finish();

    // Those that hit something.
    std::uint64_t count(Kind kind) const noexcept
    {
        return m_counts[static_cast<unsigned>(kind)];
    }

    // Orders to the device that found nothing to hit: a queue pair that was gone already.
    std::uint64_t missed() const noexcept
    {
        return m_missed;
    }

private:
    struct Order {
        Kind kind;
        std::unique_ptr<Process> process; // runs softrdma
    };

    void begin();
    void order(Kind kind, unsigned target, std::vector<std::string> words);
    std::unique_ptr<Process>
    device_order(unsigned target, std::vector<std::string> words) const;
    void end_loss();
    void end_stop();
    void reap();
    // [low, high], in words for the device.
    std::string milliseconds(unsigned low, unsigned high);
    unsigned below(unsigned bound);

    std::mt19937_64 m_random;
    std::vector<Kind> m_kinds; // one of them at a time
    const std::string m_tool;
    const std::vector<Target> m_targets;
    const ChaosBoard &m_board;
    std::array<std::uint64_t, kinds> m_counts{};
    std::uint64_t m_missed = 0;
    std::list<Order> m_orders; // under way
    Clock::time_point m_next      = Clock::time_point::max();
    unsigned m_lossy              = chaos_ends; // the process whose packets get lost
    Clock::time_point m_loss_ends = Clock::time_point::max();
    unsigned m_stopped            = chaos_ends; // the process that stands still
    Clock::time_point m_stop_ends = Clock::time_point::max();
};

} // namespace be::test
