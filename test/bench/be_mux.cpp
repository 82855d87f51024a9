// SPDX-License-Identifier: BSD-3-Clause
//
// One process with eight workers, and four others that it talks to:
//   be_mux put|am|slow turns|threads BYTES SECONDS [COMMAND]
// put, am: all workers stream puts or messages of BYTES to all peers; then the first one exchanges 64 bytes with a
// peer, alone and while the seven others stream. slow: seven stream messages to one peer, which keeps all it may,
// makes no progress for SECONDS, and goes on.
// turns: one thread takes the workers in turn, never sleeps, and has the first processor to itself; the peers share the
// others. threads: each worker has one, which sleeps in ucp_worker_wait() when it has nothing to do, and all share all
// processors. Peers sleep when they have nothing to do.
// SECONDS: of each of the phases. COMMAND is run at the end, BE_MUX_PID and BE_MUX_SLOW_PID are the process and the slow
// peer. Output: "NAME VALUE" a line. Fails if anything is lost, comes twice or is not what was sent.

#include "lib/process.hpp"
#include "mux_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <new>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace mux {
namespace {

// Vain steps of a thread before it sleeps.
constexpr unsigned patience = 200;

struct Arguments {
    std::string mode;
    bool threads;
    std::size_t size;
    double seconds;
    std::string command;
};

class Bench {
public:
    Bench(Board &board, const Arguments &arguments) :
        m_board(board), m_arguments(arguments), m_context(open_context(arguments.threads))
    {
        for (unsigned i = 0; i < num_workers; ++i) {
            m_workers.emplace_back(m_context, board, i,
                                   arguments.mode == "put" ? Bulk::put : Bulk::am);
        }
    }

    Bench(const Bench &)            = delete;
    Bench &operator=(const Bench &) = delete;

    ~Bench()
    {
        m_workers.clear();
        ucp_cleanup(m_context);
    }

    void run()
    {
        pthread_barrier_wait(&m_board.all); // the peers' addresses are there
        for (Worker &worker : m_workers) {
            worker.connect();
        }
        for (bool all = false; !all;) {
            all = true;
            for (Worker &worker : m_workers) {
                all = worker.connected() && all;
            }
        }
        measure();
        for (Worker &worker : m_workers) {
            worker.finish();
        }
        if (!m_arguments.command.empty()) {
            run_command();
        }
        pthread_barrier_wait(&m_board.all); // all of it was right
        for (Worker &worker : m_workers) {
            worker.disconnect();
        }
        m_board.closed = true;
        while (m_board.left != num_peers) {
            for (Worker &worker : m_workers) {
                worker.step();
            }
        }
    }

private:
    using Role = Worker::Role;

    void measure()
    {
        const bool slow      = m_arguments.mode == "slow";
        const unsigned first = slow ? slow_peer : 0;

        m_workers[0].start(Role::pings);
        phase({});
        tell_latency("idle");
        for (unsigned i = slow ? 1 : 0; i < num_workers; ++i) {
            m_workers[i].start(Role::streams, first);
        }
        const double seconds = phase({});
        fmt::print("streamed {:.2f}\n", static_cast<double>(m_bytes) / seconds / 1e6);

        if (slow) {
            m_workers[0].stop_peer();
        }
        m_workers[0].start(Role::pings);
        for (unsigned i = 1; i < num_workers; ++i) {
            m_workers[i].start(Role::streams, first);
        }
        const double beside = phase([&] {
            if (slow) {
                pthread_barrier_wait(&m_board.resume);
            }
        });
        tell_latency("beside");
        fmt::print("streamed_beside {:.2f}\n",
                   static_cast<double>(m_bytes) / beside / 1e6);
        if (slow) {
            fmt::print("kept {}\ncopied {}\n", m_board.kept.load(),
                       m_board.copied.load());
        }
    }

    // Everybody at work for so many seconds, and until all is complete; returns how long that took. `over` is
    // called when the time is over.
    double phase(const std::function<void()> &over)
    {
        const auto start = Clock::now();
        m_end            = start + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(m_arguments.seconds));
        m_over = over;
        if (m_arguments.threads) {
            std::vector<std::thread> threads;
            for (Worker &worker : m_workers) {
                if (!worker.idle()) {
                    threads.emplace_back([&] { drive_one(worker); });
                }
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
        } else {
            drive_all();
        }
        m_latencies = m_workers[0].latencies();
        m_bytes     = 0;
        for (Worker &worker : m_workers) {
            m_bytes += worker.bytes();
            worker.start(Role::idle);
        }
        return std::chrono::duration<double>(Clock::now() - start).count();
    }

    void drive_all()
    {
        bool over = false;
        for (std::size_t done = 0; done != m_workers.size();) {
            for (Worker &worker : m_workers) {
                worker.step();
            }
            if (!over && Clock::now() >= m_end) {
                over = true;
                time_is_over();
                for (Worker &worker : m_workers) {
                    worker.stop();
                }
            }
            done = over ? static_cast<std::size_t>(
                                  std::count_if(m_workers.begin(), m_workers.end(),
                                                [](Worker &one) { return one.done(); })) :
                          0;
        }
    }

    void drive_one(Worker &worker)
    try {
        bool over = false;
        for (unsigned idle = 0; !over || !worker.done();) {
            idle = worker.step() ? 0 : idle + 1;
            if (!over && Clock::now() >= m_end) {
                over = true;
                worker.stop();
                if (&worker == &m_workers[0]) {
                    time_is_over();
                }
            } else if (idle > patience) {
                worker.sleep();
            }
        }
    } catch (const std::exception &error) {
        fmt::print(stderr, "be_mux: {}\n", error.what());
        std::_Exit(1);
    }

    void time_is_over()
    {
        if (m_over) {
            m_over();
        }
    }

    void tell_latency(const char *when)
    {
        std::vector<double> &all = m_latencies;
        if (all.empty()) {
            throw std::runtime_error(fmt::format("no exchange of 64 bytes, {}", when));
        }
        std::sort(all.begin(), all.end());
        fmt::print("{0}_median {1:.3f}\n{0}_p99 {2:.3f}\n{0}_exchanges {3}\n", when,
                   all[all.size() / 2], all[all.size() * 99 / 100], all.size());
    }

    void run_command()
    {
        std::fflush(stdout);
        ::setenv("BE_MUX_PID", std::to_string(::getpid()).c_str(), 1);
        ::setenv("BE_MUX_SLOW_PID", std::to_string(m_board.pids[slow_peer]).c_str(), 1);
        // Counters are those of the last progress.
        std::atomic<bool> ended{false};
        int status = 0;
        std::thread command([&] {
            status = std::system(m_arguments.command.c_str());
            ended  = true;
        });
        while (!ended) {
            for (Worker &worker : m_workers) {
                worker.step();
            }
        }
        command.join();
        if (status != 0) {
            throw std::runtime_error(fmt::format("'{}' has failed", m_arguments.command));
        }
    }

    Board &m_board;
    const Arguments &m_arguments;
    ucp_context_h m_context;
    std::deque<Worker> m_workers;
    Clock::time_point m_end;
    std::function<void()> m_over;
    // Of the last phase
    std::uint64_t m_bytes = 0;
    std::vector<double> m_latencies;
};

// One thread that never sleeps would often be given the processor of those who answer it, and then both wait for
// the scheduler.
void keep_to(bool first)
{
    cpu_set_t allowed, chosen;
    CPU_ZERO(&chosen);
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
        CPU_COUNT(&allowed) < 2) {
        return;
    }
    bool found = false;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed) && std::exchange(found, true) != first) {
            CPU_SET(cpu, &chosen);
        }
    }
    (void)::sched_setaffinity(0, sizeof(chosen), &chosen);
}

int run(const Arguments &arguments)
{
    void *memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("no memory that processes share");
    }
    Board &board = *new (memory) Board(arguments.size);
    std::deque<be::test::Process> peers;
    for (unsigned i = 0; i < num_peers; ++i) {
        peers.emplace_back([&, i] {
            if (!arguments.threads) {
                keep_to(false);
            }
            return run_peer(board, i, arguments.mode == "slow" && i == slow_peer);
        });
    }
    if (!arguments.threads) {
        keep_to(true);
    }
    {
        Bench bench(board, arguments);
        bench.run();
    }
    int failed = 0;
    for (be::test::Process &peer : peers) {
        const auto status = peer.wait(20);
        if (!status || *status != 0) {
            fmt::print(stderr, "be_mux: a peer: {}\n",
                       status ? be::test::describe_status(*status) : "does not end");
            failed = 1;
        }
    }
    return failed;
}

} // namespace
} // namespace mux

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 6) {
        fmt::print(stderr, "usage: be_mux put|am|slow turns|threads BYTES SECONDS "
                           "[COMMAND]\n");
        return 2;
    }
    const mux::Arguments arguments{argv[1], argv[2] == std::string("threads"),
                                   std::strtoul(argv[3], nullptr, 0),
                                   std::strtod(argv[4], nullptr),
                                   argc > 5 ? argv[5] : ""};
    if (arguments.size < 16 || arguments.size % sizeof(std::uint64_t) != 0 ||
        arguments.seconds <= 0) {
        fmt::print(stderr,
                   "be_mux: {} bytes for {} seconds, expected a multiple of 8 from "
                   "16 on, and more than 0\n",
                   argv[3], argv[4]);
        return 2;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    try {
        return mux::run(arguments);
    } catch (const std::exception &error) {
        fmt::print(stderr, "be_mux: {}\n", error.what());
        return 1;
    }
}
