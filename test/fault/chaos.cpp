// SPDX-License-Identifier: BSD-3-Clause
//
// chaos: four processes send each other everything there is, while queue pairs, links, side channels and processes fail at
// random. Nothing may be lost, come twice or out of order; nothing may leak.
//
//   chaos [--seconds N | --hours N] [--seed N] [--kinds DIGITS] [--fallback tcp|none]
//
// --fallback tcp: data goes over the side channel while a link is down, and for good when a device is removed, which
// happens to one process in the last round of all kinds. Default: it waits.
// DIGITS choose kinds of faults, see ChaosFaults::Kind; all by default, links down for long only with a fallback. Seconds
// default to BE_CHAOS_SECONDS, then to 60; the seed to 1. The time is cut into rounds. At the end of each faults stop,
// all traffic drains and every process is checked. 300 s or more of all kinds are to make 5000 recoveries. Needs
// BE_BUILDDIR and BE_MODULEDIR. BE_TEST_LOG=y prints what the engine logs.

#include "chaos_faults.hpp"
#include "chaos_member.hpp"

#include "lib/process.hpp"
#include "lib/procfs.hpp"
#include "lib/sanitized.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>

namespace be::test {
namespace {

using Clock = ChaosFaults::Clock;

constexpr double patience = 60; // s, until a process answers; it gives up itself earlier
constexpr double long_run = 300; // s, of all kinds of faults ...
constexpr std::uint64_t long_recoveries = 5000; // ... makes at least so many recoveries
constexpr std::size_t memory_margin =
        8u << 20; // bytes that a process may grow by, once all is in use

constexpr const char *all_kinds   = "0123456789";
constexpr const char *short_kinds = "012345678"; // where the end of a fault is waited for

struct Options {
    double seconds     = 60;
    std::uint64_t seed = 1;
    std::string kinds; // empty: all
    bool all      = true;
    bool fallback = false;
};

// Throws std::invalid_argument.
double positive(const std::string &name, const char *text)
{
    char *end          = nullptr;
    const double value = text == nullptr ? 0 : std::strtod(text, &end);
    if (text == nullptr || end == text || *end != '\0' || !(value > 0)) {
        throw std::invalid_argument(name + " is '" + (text == nullptr ? "" : text) +
                                    "', a number above 0 was expected");
    }
    return value;
}

Options parse(int argc, char **argv)
{
    Options options;
    if (const char *seconds = std::getenv("BE_CHAOS_SECONDS")) {
        options.seconds = positive("BE_CHAOS_SECONDS", seconds);
    }
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        const char *value      = argv[i + 1];
        if (name == "--seconds") {
            options.seconds = positive(name, value);
        } else if (name == "--hours") {
            options.seconds = 3600 * positive(name, value);
        } else if (name == "--seed") {
            options.seed = static_cast<std::uint64_t>(positive(name, value));
        } else if (name == "--kinds" && value != nullptr && *value != '\0') {
            options.kinds = value;
        } else if (name == "--fallback" && value != nullptr &&
                   (std::string(value) == "tcp" || std::string(value) == "none")) {
            options.fallback = std::string(value) == "tcp";
        } else {
            throw std::invalid_argument("'" + name +
                                        "' is not --seconds, --hours, --seed, --kinds "
                                        "or --fallback with a value");
        }
    }
    options.all = options.kinds.empty();
    if (options.all) {
        options.kinds = options.fallback ? all_kinds : short_kinds;
    }
    return options;
}

class Chaos {
public:
    explicit Chaos(const Options &options) : m_options(options), m_board(make_board())
    {
        const char *build = std::getenv("BE_BUILDDIR");
        if (build == nullptr) {
            throw std::runtime_error("BE_BUILDDIR does not name the build tree");
        }
        m_board->fallback = options.fallback;
        for (unsigned end = 0; end < chaos_ends; ++end) {
            m_channels.push_back(Channel::pair());
        }
        std::vector<ChaosFaults::Target> targets;
        for (unsigned end = 0; end < chaos_ends; ++end) {
            m_processes.push_back(std::make_unique<Process>([&, end] {
                return run_chaos_member(end, options.seed, m_channels[end].second,
                                        *m_board);
            }));
            targets.push_back({m_processes[end].get(), &m_channels[end].first});
        }
        m_faults = std::make_unique<ChaosFaults>(options.seed, options.kinds,
                                                 std::string(build) +
                                                         "/src/softrdma/softrdma",
                                                 targets, *m_board);
    }

    ~Chaos()
    {
        ::munmap(m_board, sizeof(ChaosBoard));
    }

    Chaos(const Chaos &)            = delete;
    Chaos &operator=(const Chaos &) = delete;

    void run()
    {
        introduce();
        // Long runs look at themselves each minute, short ones four times.
        const auto rounds = std::max(4u, static_cast<unsigned>(m_options.seconds / 60));
        for (m_round = 1; m_round <= rounds; ++m_round) {
            make_trouble(m_options.seconds / rounds,
                         m_round == rounds && m_options.all && m_options.fallback);
            drain();
            if (m_round == rounds / 4) {
                m_before = footprints();
            }
            if (rounds >= 8) {
                print_totals();
            }
        }
        compare(footprints());
        if (m_options.all &&
            (m_totals["recoveries"] == 0 || m_totals["channels_lost"] == 0 ||
             (m_totals["fallbacks"] != 0) != m_options.fallback)) {
            throw std::runtime_error("the faults had no effect");
        }
        if (m_options.all && m_options.seconds >= long_run &&
            m_totals["recoveries"] < long_recoveries) {
            throw std::runtime_error("there were " +
                                     std::to_string(m_totals["recoveries"]) +
                                     " recoveries, at least " +
                                     std::to_string(long_recoveries) + " were expected");
        }
        tell("end");
        for (const auto &process : m_processes) {
            const auto status = process->wait(patience);
            if (!status || *status != 0) {
                throw std::runtime_error(
                        "process " + std::to_string(process->pid()) + ": " +
                        (status ? describe_status(*status) : "does not end"));
            }
        }
        print_totals();
    }

    // What the processes that live know, for who looks at a failure.
    void print_states()
    {
        for (unsigned end = 0; end < chaos_ends; ++end) {
            m_processes[end]->signal(SIGCONT);
            if (!m_processes[end]->wait(0)) {
                try {
                    m_channels[end].first.send("state");
                } catch (const std::exception &) {
                    continue; // it ends now
                }
            }
        }
        for (const auto &process : m_processes) {
            (void)process->wait(1); // time to print
        }
    }

    void print_totals()
    {
        std::printf("# %u rounds:", std::min(m_round, std::max(4u, m_round)));
        for (const auto &[name, value] : m_totals) {
            std::printf(" %s %llu", name.c_str(), static_cast<unsigned long long>(value));
        }
        std::printf("\n# faults:");
        for (unsigned kind = 0; kind < ChaosFaults::kinds; ++kind) {
            std::printf("%s %llu %s", kind == 0 ? "" : ",",
                        static_cast<unsigned long long>(
                                m_faults->count(static_cast<ChaosFaults::Kind>(kind))),
                        ChaosFaults::name(static_cast<ChaosFaults::Kind>(kind)));
        }
        std::printf(", %llu missed\n",
                    static_cast<unsigned long long>(m_faults->missed()));
        if (m_board->without_device != chaos_ends) {
            std::printf("# device of process %u removed\n",
                        m_board->without_device.load());
        }
        std::printf("# %.0f recoveries a minute\n",
                    static_cast<double>(m_totals["recoveries"]) / m_seconds * 60);
        std::fflush(stdout);
    }

private:
    static ChaosBoard *make_board()
    {
        void *memory = ::mmap(nullptr, sizeof(ChaosBoard), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(),
                                    "memory for the processes");
        }
        return new (memory) ChaosBoard{};
    }

    void introduce()
    {
        std::string all;
        for (unsigned end = 0; end < chaos_ends; ++end) {
            all += answer(end);
        }
        tell(all);
        for (unsigned end = 0; end < chaos_ends; ++end) {
            (void)answer(end);
        }
    }

    void tell(const std::string &order)
    {
        for (const auto &channel : m_channels) {
            channel.first.send(order);
        }
    }

    std::string answer(unsigned end)
    {
        try {
            return m_channels[end].first.receive(patience);
        } catch (const std::exception &error) {
            throw std::runtime_error("process " + std::to_string(end) + ": " +
                                     error.what());
        }
    }

    // `remove`: half-way through, one process loses its device for good.
    void make_trouble(double seconds, bool remove)
    {
        tell("go");
        const auto start = Clock::now();
        const auto end   = start + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(seconds));
        m_faults->start();
        while (Clock::now() < end || remove) {
            m_faults->turn();
            if (remove && Clock::now() > start + (end - start) / 2) {
                m_board->without_device = m_faults->remove_device();
                remove                  = m_board->without_device == chaos_ends;
            }
            all_live();
            const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::min(end, m_faults->due()) - Clock::now());
            (void)::poll(nullptr, 0,
                         std::clamp(static_cast<int>(wait.count()) + 1, 1, 100));
        }
        m_faults->finish();
        m_seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }

    void all_live()
    {
        for (unsigned end = 0; end < chaos_ends; ++end) {
            if (const auto status = m_processes[end]->wait(0)) {
                throw std::runtime_error("process " + std::to_string(end) + ": " +
                                         describe_status(*status));
            }
        }
    }

    // Each process learns what the others have sent to it, and says when all of that is there.
    void drain()
    {
        tell("stop");
        std::string expected[chaos_ends];
        for (unsigned from = 0; from < chaos_ends; ++from) {
            std::istringstream words(answer(from));
            std::string word, messages, puts;
            words >> word;
            for (std::string &to : expected) {
                words >> messages >> puts;
                to += " " + messages + " " + puts;
            }
        }
        for (unsigned end = 0; end < chaos_ends; ++end) {
            m_channels[end].first.send("expect" + expected[end]);
        }
        for (unsigned end = 0; end < chaos_ends; ++end) {
            (void)answer(end);
        }
        tell("check");
        m_totals.clear();
        for (unsigned end = 0; end < chaos_ends; ++end) {
            std::istringstream words(answer(end));
            std::string word;
            words >> word;
            std::uint64_t value = 0;
            while (words >> word >> value) {
                m_totals[word] += value;
            }
        }
    }

    std::vector<Footprint> footprints() const
    {
        std::vector<Footprint> all;
        for (const auto &process : m_processes) {
            all.push_back(footprint(process->pid()));
        }
        return all;
    }

    void compare(const std::vector<Footprint> &now) const
    {
        for (unsigned end = 0; end < chaos_ends; ++end) {
            const auto grown = [&](const char *what, std::size_t was, std::size_t is,
                                   std::size_t margin) {
                std::printf("# process %u: %s %zu after a quarter, %zu in the end\n", end,
                            what, was, is);
                if (is > was + margin) {
                    throw std::runtime_error("process " + std::to_string(end) + " had " +
                                             std::to_string(was) + " " + what +
                                             " after a quarter of the time and has " +
                                             std::to_string(is) + " in the end");
                }
            };
            grown("descriptors", m_before[end].descriptors, now[end].descriptors, 0);
            grown("threads", m_before[end].threads, now[end].threads, 0);
            if (!sanitized) { // what it has freed is kept there
                grown("bytes of memory", m_before[end].resident, now[end].resident,
                      memory_margin);
            }
        }
    }

    const Options m_options;
    ChaosBoard *const m_board;
    std::vector<std::pair<Channel, Channel>> m_channels; // ours, theirs
    std::vector<std::unique_ptr<Process>> m_processes;
    std::unique_ptr<ChaosFaults> m_faults;
    std::map<std::string, std::uint64_t> m_totals;
    std::vector<Footprint> m_before;
    unsigned m_round = 0;
    double m_seconds = 0; // with faults
};

int run(int argc, char **argv)
{
    Options options;
    try {
        options = parse(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "chaos: %s\n", error.what());
        return 2;
    }
    std::printf("# seed %llu, %g s\n", static_cast<unsigned long long>(options.seed),
                options.seconds);
    std::fflush(stdout);
    Chaos chaos(options);
    try {
        chaos.run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "chaos --seconds %g --seed %llu failed: %s\n",
                     options.seconds, static_cast<unsigned long long>(options.seed),
                     error.what());
        chaos.print_states();
        chaos.print_totals();
        return 1;
    }
    return 0;
}

} // namespace
} // namespace be::test

int main(int argc, char **argv)
{
    return be::test::run(argc, argv);
}
