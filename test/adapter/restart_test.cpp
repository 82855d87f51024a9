// SPDX-License-Identifier: BSD-3-Clause
//
// restart_test [COUNT]: a server process is killed or drained, and started again at the same
// address, COUNT times under load. Every call ends; one that succeeded was run once, one
// whose outcome is unknown at most once, and nothing else is run.
//
// restart_test --deaths COUNT: a server process is killed while a call waits, COUNT times;
// how long it takes until the call ends.
//
// restart_test --serve ADDRESS FILE: that server. Writes the number of each request it runs
// to FILE, its address to stdout, and drains on SIGTERM.
#include "child.hpp"
#include "fixture.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace be;
using namespace be::test;

int serve(const std::string &address, const char *file)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    const int log = open(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
    Runtime runtime;
    Server server(runtime, ServerOptions{.address = address});
    server.add("run", [log](const Request &request) {
        if (write(log, request.body().bytes().data(), sizeof(uint64_t)) !=
            sizeof(uint64_t)) {
            throw std::runtime_error("cannot write");
        }
        return request.body();
    });
    std::vector<Responder> waiting; // on the only thread
    server.add_async("hang", [&waiting](Request, Responder responder) {
        waiting.push_back(std::move(responder));
    });
    server.start();
    std::cout << server.address() << std::endl;
    int signal = 0;
    sigwait(&signals, &signal);
    return server.drain(std::chrono::seconds(10)) ? 0 : 1;
}

struct ServerProcess : Child {
    ServerProcess(const std::string &address, const std::string &file) :
        Child({"--serve", address, file}), listens_at(line())
    {
        if (listens_at.empty()) {
            throw std::runtime_error("the server did not start at " + address);
        }
    }

    const std::string listens_at;
};

struct Load {
    static constexpr unsigned clients = 3;

    explicit Load(std::string to) : address(std::move(to))
    {
        for (unsigned c = 0; c < clients; c++) {
            threads.emplace_back([this, c] { run(c); });
        }
    }

    void run(unsigned client)
    {
        Channel channel(runtime, channel_to({address}));
        CallOptions options;
        options.max_attempts = 100000;
        options.timeout      = patience;
        for (uint64_t i = 0; !stop; i++) {
            const uint64_t number = i * clients + client;
            const Reply reply     = channel.call(
                        "run", Body::copy(std::as_bytes(std::span(&number, 1))), options);
            ended[client][number] = reply.status;
            good += reply.ok();
        }
    }

    void finish()
    {
        stop = true;
        for (std::thread &thread : threads) {
            thread.join();
        }
    }

    Runtime runtime;
    const std::string address;
    std::atomic<bool> stop     = false;
    std::atomic<uint64_t> good = 0;
    std::map<uint64_t, Status> ended[clients];
    std::vector<std::thread> threads;
};

unsigned check(const Load &load, const std::string &file)
{
    std::map<uint64_t, unsigned> runs;
    std::ifstream log(file, std::ios::binary);
    uint64_t number = 0;
    unsigned bad = 0, lost = 0;

    while (log.read(reinterpret_cast<char *>(&number), sizeof(number))) {
        runs[number]++;
    }
    for (const auto &of_client : load.ended) {
        for (const auto &[which, status] : of_client) {
            const unsigned count = runs[which];
            lost += status == Status::connection_lost;
            if ((count > 1) || ((status == Status::ok) && (count != 1)) ||
                ((status != Status::ok) && (status != Status::connection_lost))) {
                std::cout << "call " << which << ": " << to_string(status) << ", run "
                          << count << " times\n";
                bad++;
            }
        }
    }
    std::cout << load.good << " calls succeeded, " << lost << " are unknown, " << bad
              << " are wrong\n";
    return bad;
}

int drive(unsigned restarts)
{
    const std::string file = std::string(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp") +
                             "/be-restart." + std::to_string(getpid());
    auto server               = std::make_unique<ServerProcess>("127.0.0.1:0", file);
    const std::string address = server->listens_at;
    Load load(address);
    bool well = true;

    for (unsigned restart = 0; well && (restart < restarts); restart++) {
        const uint64_t before = load.good;
        const auto late       = std::chrono::steady_clock::now() + patience;
        while (load.good < before + 20) {
            if (std::chrono::steady_clock::now() > late) {
                std::cout << "no progress after restart " << restart << "\n";
                well = false;
                break;
            }
            std::this_thread::yield();
        }
        const int signal = (restart % 2 == 0) ? SIGTERM : SIGKILL;
        if (!server->end(signal)) {
            std::cout << "a server did not drain in order\n";
            well = false;
        }
        server = std::make_unique<ServerProcess>(address, file);
    }
    load.finish();
    well = (check(load, file) == 0) && well;
    unlink(file.c_str());
    return well ? 0 : 1;
}

// The other side's death is noticed at once: by the end of its TCP connection.
int die(unsigned deaths)
{
    constexpr double limit = 20e-3; // seconds, for the median
    std::vector<double> times;
    Runtime runtime;

    for (unsigned i = 0; i < deaths; i++) {
        ServerProcess server("127.0.0.1:0", "/dev/null");
        Channel channel(runtime, channel_to({server.listens_at}));
        const uint64_t number = i;
        channel.call("run", Body::copy(std::as_bytes(std::span(&number, 1)))).value();
        Call call = channel.start("hang", {});
        if (call.wait_for(2ms)) {
            std::cout << "the call ended before the server\n";
            return 1;
        }
        const auto before = std::chrono::steady_clock::now();
        server.signal(SIGKILL);
        const Reply reply = call.get();
        times.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - before)
                        .count());
        if (reply.status != Status::connection_lost) {
            std::cout << "the call ended with " << to_string(reply.status) << ": "
                      << reply.text << "\n";
            return 1;
        }
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::cout << "death noticed after " << median * 1e3 << " ms (median), "
              << times.back() * 1e3 << " ms (most)\n";
    return (median <= limit) ? 0 : 1;
}

unsigned count_of(const char *text)
{
    const unsigned count = static_cast<unsigned>(std::stoul(text));
    if (count == 0) {
        throw std::runtime_error("count '0': expected at least 1");
    }
    return count;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        if ((argc == 4) && (std::string(argv[1]) == "--serve")) {
            return serve(argv[2], argv[3]);
        }
        if ((argc == 3) && (std::string(argv[1]) == "--deaths")) {
            return die(count_of(argv[2]));
        }
        return drive((argc > 1) ? count_of(argv[1]) : 20);
    } catch (const std::exception &error) {
        std::cerr << "restart_test: " << error.what() << "\n";
        return 1;
    }
}
