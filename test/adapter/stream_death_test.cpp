// SPDX-License-Identifier: BSD-3-Clause
//
// stream_death_test [COUNT]: a client process is killed in the middle of a stream, COUNT times,
// at another moment each time. The handler ends with connection_lost; what it has read
// is whole and in order; nothing of the stream is left; others are served all the time. How soon is printed.
//
// stream_death_test --client ADDRESS METHOD PARTS SIZE: that client. Writes PARTS parts (0: for
// ever), says "written", and then stays as it is.
#include "child.hpp"
#include "stream_fixture.hpp"

#include <algorithm>
#include <iostream>
#include <random>

#include <sys/prctl.h>

namespace {

using namespace be;
using namespace be::test;
using Clock = std::chrono::steady_clock;

constexpr unsigned in_flight = StreamOptions{}.parts;

int be_client(char **arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const unsigned long parts = std::stoul(arguments[2]);
    const unsigned long size  = std::stoul(arguments[3]);
    Runtime runtime;
    Channel channel(runtime, channel_to({arguments[0]}));
    CallOptions options;
    options.timeout   = no_deadline;
    StreamCall opened = channel.open(arguments[1], {}, options);
    for (unsigned long i = 0; (parts == 0) || (i < parts); i++) {
        const Status status = opened.parts.write(numbered(i, size));
        if (status != Status::ok) {
            std::cerr << "part " << i << ": " << to_string(status) << "\n";
            return 1;
        }
    }
    std::cout << "written" << std::endl;
    opened.call.wait_for(no_deadline);
    return 1; // it was to be killed
}

// What a handler has seen, of the stream that is under way.
struct Seen {
    // Whether it goes on.
    bool got(const Part &part)
    {
        if (part) {
            whole = whole && is_numbered(part.body, parts, size);
            parts++;
            return true;
        }
        end(part.last ? Status::ok : part.status);
        return false;
    }
    void end(Status how)
    {
        status = how;
        at     = Clock::now();
        ended.set();
    }

    const size_t size;
    std::atomic<uint64_t> parts = 0; // read, or begun to be written
    bool whole                  = true;
    Status status               = Status::ok;
    Clock::time_point at        = {};
    std::weak_ptr<int> body     = {}; // of what it writes
    Event ended                 = {};
};

Task<Body> write_always(std::shared_ptr<Seen> seen, Stream parts)
{
    const auto bytes = pattern(seen->size, 1);
    const auto owner = std::make_shared<int>();
    seen->body       = owner;
    Status status    = Status::ok;
    while (status == Status::ok) {
        seen->parts++;
        status = co_await parts.start_write(Body(owner, bytes));
    }
    seen->end(status);
    co_return Body();
}

Task<Body> read_always(std::shared_ptr<Seen> seen, Stream parts)
{
    bool more = true;
    while (more) {
        const Part part = co_await parts.start_read();
        more            = seen->got(part);
    }
    co_return Body();
}

Task<Body> send_back(Stream parts)
{
    Status status = Status::ok;
    while (status == Status::ok) {
        Part part =
                co_await parts.start_read(); // not kept while it waits for the next one
        status = part ? co_await parts.start_write(std::move(part.body)) : Status::closed;
    }
    co_return Body();
}

struct Service {
    Service()
    {
        held.add_to(server.server);
        server.server.add_stream_task("read", [this](Request, Stream parts) {
            return read_always(seen, std::move(parts));
        });
        server.server.add_stream_task("write", [this](Request, Stream parts) {
            return write_always(seen, std::move(parts));
        });
        server.server.add_stream("wait", [this](const Request &, Stream &parts) {
            const auto its = seen;
            while (its->got(parts.read())) {
            }
            return Body();
        });
        server.server.add_stream_task("back", [](Request, Stream parts) {
            return send_back(std::move(parts));
        });
        address = server.start();
    }

    EchoServer server;
    HeldStream held;
    std::shared_ptr<Seen> seen; // of the next stream
    std::string address;
};

// A client that lives, with a stream of its own.
struct Bystander {
    explicit Bystander(const std::string &address) :
        channel(runtime, channel_to({address})),
        opened(channel.open("back", {}, forever()))
    {
    }
    static CallOptions forever()
    {
        CallOptions options;
        options.timeout = no_deadline;
        return options;
    }
    // Whether it is served as ever.
    bool is_served()
    {
        const uint64_t number = m_number++;
        return channel.call("echo", Body::copy("after")).ok() &&
               (opened.parts.write(numbered(number, 70000)) == Status::ok) &&
               is_numbered(opened.parts.read().body, number, 70000);
    }

    Runtime runtime;
    Channel channel;
    StreamCall opened;

private:
    uint64_t m_number = 0;
};

template<class Condition>
bool becomes(const Condition &condition)
{
    const auto late = Clock::now() + patience;
    while (!condition()) {
        if (Clock::now() > late) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

class Deaths {
public:
    // False when it was not as it should be, which has been said.
    bool round(unsigned number)
    {
        static constexpr size_t sizes[] = {100, 5000, 100000, 1 << 20};
        const size_t size               = sizes[m_random() % std::size(sizes)];
        switch (number % 5) {
        case 0:
            return at_random("read", size);
        case 1:
            return between_parts(size);
        case 2:
            return before_anything_is_read(std::max<size_t>(size, 5000)); // of the pool
        case 3:
            return while_the_handler_writes(size);
        default:
            return at_random("wait", size);
        }
    }

    // Milliseconds, sorted.
    std::vector<double> times()
    {
        std::sort(m_times.begin(), m_times.end());
        return m_times;
    }

private:
    std::unique_ptr<Child> start(const char *method, unsigned parts, size_t size)
    {
        m_what = std::string(method) + ", " + std::to_string(parts) + " parts of " +
                 std::to_string(size);
        m_service.seen.reset(new Seen{size});
        return std::make_unique<Child>(
                std::vector<std::string>{"--client", m_service.address, method,
                                         std::to_string(parts), std::to_string(size)});
    }

    bool expect(bool good, const std::string &what)
    {
        if (!good) {
            std::cout << m_what << ", seed " << m_seed << ": " << what << "\n";
        }
        return good;
    }

    bool read_at_least(uint64_t parts)
    {
        return expect(becomes([&] { return m_service.seen->parts >= parts; }),
                      "the stream does not go on");
    }

    bool at_random(const char *method, size_t size)
    {
        const auto client = start(method, 0, size);
        if (!read_at_least(1 + m_random() % 20)) {
            return false;
        }
        for (unsigned left = m_random() % 1000; left != 0; left--) { // into the next ones
            std::this_thread::yield();
        }
        return die(*client);
    }

    bool between_parts(size_t size)
    {
        const unsigned parts = 1 + m_random() % 12;
        const auto client    = start("read", parts, size);
        return read_at_least(parts) && die(*client) &&
               expect(m_service.seen->parts == parts, "another number of parts was read");
    }

    // The handler reads nothing: the client waits in a write.
    bool before_anything_is_read(size_t size)
    {
        const auto client = start("hold", in_flight, size);
        HeldStream &held  = m_service.held;
        const bool full   = expect(client->line() == "written", "it does not write") &&
                          expect(held.entered.wait(), "the handler is not run");
        if (!full) {
            return false;
        }
        const auto killed = Clock::now();
        client->end(SIGKILL);
        // Its parts are given back, though the handler keeps its stream and does not look.
        const bool free = expect(becomes([&] { return held.request->canceled(); }),
                                 "the request is not canceled") &&
                          expect(pool_becomes_empty(), "parts are kept");
        m_times.push_back(ms(Clock::now() - killed));
        const Status read  = held.parts->read().status;
        const Status write = held.parts->write({});
        const bool lost    = expect(read == Status::connection_lost, to_string(read)) &&
                          expect(write == Status::connection_lost, to_string(write));
        held.parts.reset();
        held.responder.reset();
        held.request.reset();
        held.entered.reset();
        return free && lost && nothing_is_left();
    }

    // The client reads nothing: the handler waits in a write.
    bool while_the_handler_writes(size_t size)
    {
        const auto client = start("write", 1, size);
        return expect(client->line() == "written", "it does not write") &&
               read_at_least(in_flight + 1) && die(*client);
    }

    bool die(Child &client)
    {
        Seen &seen        = *m_service.seen;
        const auto killed = Clock::now();
        client.end(SIGKILL);
        if (!expect(seen.ended.wait(), "the handler does not end")) {
            return false;
        }
        m_times.push_back(ms(seen.at - killed));
        return expect(seen.status == Status::connection_lost, to_string(seen.status)) &&
               expect(seen.whole, "a part is not what was written") && nothing_is_left();
    }

    bool nothing_is_left()
    {
        const auto stats = [this] { return m_service.server.server.stats(); };
        return expect(becomes([&] { return m_service.seen->body.expired(); }),
                      "what the handler has written is kept") &&
               expect(becomes([&] { return stats().active == 1; }),
                      "a request is still under way") &&
               expect(becomes([&] { return stats().connections == 1; }),
                      "a connection is kept") &&
               expect(m_bystander.is_served(), "others are not served") &&
               expect(pool_becomes_empty(), "parts are kept");
    }

    static double ms(Clock::duration time)
    {
        return std::chrono::duration<double, std::milli>(time).count();
    }

    Service m_service;
    Bystander m_bystander{m_service.address};
    const unsigned m_seed = std::random_device()();
    std::minstd_rand m_random{m_seed};
    std::string m_what;
    std::vector<double> m_times;
};

int die(unsigned deaths)
{
    Deaths all;
    for (unsigned i = 0; i < deaths; i++) {
        if (!all.round(i)) {
            return 1;
        }
    }
    const auto times = all.times();
    std::cout << deaths << " clients killed; noticed after " << times[times.size() / 2]
              << " ms (median), " << times.back() << " ms (most)\n";
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        if ((argc == 6) && (std::string(argv[1]) == "--client")) {
            return be_client(argv + 2);
        }
        const unsigned count = (argc > 1) ? static_cast<unsigned>(std::stoul(argv[1])) :
                                            30;
        if (count == 0) {
            throw std::runtime_error("count '0': expected at least 1");
        }
        return die(count);
    } catch (const std::exception &error) {
        std::cerr << "stream_death_test: " << error.what() << "\n";
        return 1;
    }
}
