// SPDX-License-Identifier: BSD-3-Clause
//
// Streams that come to their end, in both directions and in all forms, in bounded memory.
#include "stream_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace be::test {

namespace {

constexpr size_t part_size     = size_t{256} << 10;
constexpr StreamOptions narrow = {.parts = 4, .max_part = part_size};

// Says how many parts came, all of them as they should.
Body count_parts(Stream &parts)
{
    uint64_t count = 0;
    Part part;
    while ((part = parts.read())) {
        if (!is_numbered(part.body, count, part.body.size())) {
            throw std::runtime_error("part " + std::to_string(count) + " is wrong");
        }
        count++;
    }
    if (!part.last) {
        throw std::runtime_error(to_string(part.status));
    }
    return Body::take(std::to_string(count));
}

Task<Body> give_parts(Request request, Stream parts, size_t size)
{
    const auto count = std::stoull(std::string(request.body().text()));
    for (uint64_t i = 0; i < count; i++) {
        const Status status = co_await parts.start_write(numbered(i, size));
        if (status != Status::ok) {
            throw std::runtime_error(to_string(status));
        }
    }
    co_return Body::copy("given");
}

Task<Body> echo_parts(Request, Stream parts)
{
    for (;;) {
        Part part = co_await parts.start_read();
        if (!part) {
            co_return Body::take(std::string(to_string(part.status)));
        }
        co_await parts.start_write(std::move(part.body));
    }
}

struct StreamServer : EchoServer {
    explicit StreamServer(unsigned threads = 1) : EchoServer({}, threads)
    {
        server.add_stream(
                "count",
                [](const Request &, Stream &parts) { return count_parts(parts); },
                narrow);
        server.add_stream_task(
                "give",
                [](Request request, Stream parts) {
                    return give_parts(std::move(request), std::move(parts), part_size);
                },
                narrow);
        server.add_stream_task("echo parts", echo_parts, narrow);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(streams)

// 128 MiB each way, of which 1.25 MiB are in memory for a side that reads.
BOOST_AUTO_TEST_CASE(a_body_larger_than_the_memory_for_it)
{
    constexpr uint64_t parts = 512;
    constexpr size_t most    = (narrow.parts + 1) * part_size;
    StreamServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    CallOptions options;
    options.timeout = 5 * patience;
    BOOST_REQUIRE(pool_becomes_empty());

    size_t live = 0;
    {
        auto [up, call] = channel.open("count", {}, options, narrow);
        for (uint64_t i = 0; i < parts; i++) {
            BOOST_REQUIRE((up.write(numbered(i, part_size)) == Status::ok));
            live = std::max(live, adapter::pool_stats().live);
        }
        BOOST_TEST((up.finish() == Status::ok));
        BOOST_TEST(call.get().value().text() == std::to_string(parts));
    }
    BOOST_TEST(live > 0u);
    BOOST_TEST(live <= most);

    live              = 0;
    auto [down, call] = channel.open("give", Body::take(std::to_string(parts)), options,
                                     narrow);
    uint64_t count    = 0;
    Part part;
    while ((part = down.read())) {
        BOOST_REQUIRE(is_numbered(part.body, count++, part_size));
        live = std::max(live, adapter::pool_stats().live);
    }
    BOOST_TEST(part.last);
    BOOST_TEST(count == parts);
    BOOST_TEST(call.get().value().text() == "given");
    BOOST_TEST(live > 0u);
    BOOST_TEST(live <= most);
    part.body = Body();
    BOOST_TEST(pool_becomes_empty());
}

BOOST_AUTO_TEST_CASE(parts_of_every_size_and_of_several_pieces)
{
    StreamServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    const std::vector<size_t> sizes = {0,    1,    63,    1024,  1025,  4096,
                                       8000, 8193, 65536, 65537, 262144};
    for (unsigned parts : {1u, 2u, 3u, 64u}) {
        auto [stream, call] = channel.open("echo parts", {}, {},
                                           {.parts = parts, .max_part = part_size});
        for (size_t size : sizes) {
            const auto bytes = pattern(size, 1);
            Body body        = Body::copy(std::span(bytes).first(size / 3));
            body.append(Body::copy(std::span(bytes).subspan(size / 3)));
            BOOST_REQUIRE((stream.write(body) == Status::ok));
            const Part part = stream.read();
            BOOST_REQUIRE(part);
            BOOST_REQUIRE(same(part.body, bytes));
        }
        BOOST_TEST((stream.finish() == Status::ok));
        BOOST_TEST((stream.finish() == Status::ok));
        BOOST_TEST(stream.read().last);
        BOOST_TEST(call.get().value().text() == "ok");
        BOOST_TEST(stream.read().last);
    }
}

BOOST_AUTO_TEST_CASE(streams_without_parts)
{
    StreamServer server;
    server.server.add_stream("at once", [](const Request &request, Stream &) {
        return request.body();
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    {
        auto [parts, call] = channel.open("count", {});
        BOOST_TEST((parts.finish() == Status::ok));
        BOOST_TEST(call.get().value().text() == "0");
    }
    std::vector<std::byte> to(1000000);
    CallOptions options;
    options.response   = to;
    const auto bytes   = pattern(to.size(), 3);
    auto [parts, call] = channel.open("at once", Body::borrow(bytes), options);
    const Reply reply  = call.get();
    BOOST_TEST(same(reply.value(), bytes));
    BOOST_TEST(parts.read().last);
    BOOST_TEST((parts.write(Body::copy("late")) == Status::closed));
}

// All 16 at once through one thread of the server, each with parts of its own both ways.
BOOST_AUTO_TEST_CASE(sixteen_streams_at_once)
{
    constexpr uint64_t parts = 40;
    StreamServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    std::atomic<unsigned> good = 0;
    std::vector<std::thread> threads;

    for (unsigned t = 0; t < 16; t++) {
        threads.emplace_back([&, t] {
            CallOptions options;
            options.timeout     = 5 * patience;
            auto [stream, call] = channel.open("echo parts", {}, options, narrow);
            std::thread writer([&, &to = stream] {
                for (uint64_t i = 0; i < parts; i++) {
                    if (to.write(numbered(i + t, 50000 + t)) != Status::ok) {
                        return;
                    }
                }
                to.finish();
            });
            uint64_t count = 0;
            Part part;
            while ((part = stream.read()) &&
                   is_numbered(part.body, count + t, 50000 + t)) {
                count++;
            }
            writer.join();
            good += part.last && (count == parts) && call.get().ok();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_TEST(good == 16u);
    BOOST_TEST(becomes_idle(server.server));
}

namespace {

Task<int> relay(Channel &channel, uint64_t parts)
{
    auto [stream, call] = channel.open("echo parts", {}, {}, narrow);
    for (uint64_t i = 0; i < parts; i++) {
        if (co_await stream.start_write(numbered(i, 1000)) != Status::ok) {
            co_return -1;
        }
        const Part part = co_await stream.start_read();
        if (!part || !is_numbered(part.body, i, 1000)) {
            co_return -2;
        }
    }
    stream.finish();
    const Part end    = co_await stream.start_read();
    const Reply reply = co_await std::move(call);
    co_return (end.last && reply.ok()) ? 1 : -3;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_coroutine_awaits_reads_and_writes)
{
    StreamServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    Event done;
    int result = 0;
    relay(channel, 1000).on_done([&](std::optional<int> value, std::exception_ptr) {
        result = value.value_or(0);
        done.set();
    });
    BOOST_TEST(done.wait());
    BOOST_TEST(result == 1);
}

// Each callback begins the next read: a stack frame for each would overflow.
BOOST_AUTO_TEST_CASE(callbacks_may_read_and_write_on)
{
    StreamServer server;
    server.server.add_stream_task("small",
                                  [](Request request, Stream parts) {
                                      return give_parts(std::move(request),
                                                        std::move(parts), 8);
                                  },
                                  {.parts = 64, .max_part = 8});
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    constexpr uint64_t parts = 50000;
    CallOptions options;
    options.timeout     = 5 * patience;
    auto [stream, call] = channel.open("small", Body::take(std::to_string(parts)),
                                       options, {.parts = 64, .max_part = 8});
    uint64_t count      = 0;
    Part end;
    Event done;
    std::function<void(Part)> next = [&, &from = stream](Part part) {
        if (part && is_numbered(part.body, count, 8)) {
            count++;
            from.start_read(next);
        } else {
            end = std::move(part);
            done.set();
        }
    };
    stream.start_read(next);
    BOOST_TEST(done.wait(5 * patience));
    BOOST_TEST(end.last);
    BOOST_TEST(count == parts);
    BOOST_TEST(call.get().ok());

    Event written;
    Status status       = Status::ok;
    auto [again, other] = channel.open("echo parts", {});
    again.start_write(Body::copy("x"), [&](Status its) {
        status = its;
        written.set();
    });
    BOOST_TEST(written.wait());
    BOOST_TEST((status == Status::ok));
    BOOST_TEST(again.read().body.text() == "x");
}

BOOST_AUTO_TEST_CASE(streams_run_however_threads_wait)
{
    for (const Progress progress :
         {Progress::polling, Progress::event_driven, Progress::adaptive}) {
        Runtime runtime(RuntimeOptions{.progress = progress});
        Server server(runtime);
        server.add_stream(
                "count",
                [](const Request &, Stream &parts) { return count_parts(parts); },
                narrow);
        server.start();
        Runtime other(RuntimeOptions{.progress = progress});
        Channel channel(other, channel_to({server.address()}));
        auto [parts, call] = channel.open("count", {}, {}, narrow);
        for (uint64_t i = 0; i < 50; i++) {
            BOOST_REQUIRE((parts.write(numbered(i, 20000)) == Status::ok));
        }
        parts.finish();
        BOOST_TEST(call.get().value().text() == "50");
    }
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_slow_stalls_the_writer)
{
    for (unsigned own : {2u, 6u, 64u}) {
        EchoServer server;
        HeldStream held;
        held.add_to(server.server, {.parts = 6, .max_part = 1000});
        Runtime runtime;
        Channel channel(runtime, channel_to({server.start()}));
        auto [up, call] = channel.open("hold", {}, {}, {.parts = own, .max_part = 1000});
        BOOST_REQUIRE(
                (up.write(numbered(0, 1000)) == Status::ok)); // the first credit is there
        uint64_t written = 1;
        // The writer's places become free as parts go out, the reader's are taken for good.
        const auto late = std::chrono::steady_clock::now() + patience;
        while ((written < 6) && (std::chrono::steady_clock::now() < late)) {
            written += up.try_write(numbered(written, 1000)) == Status::ok;
        }
        BOOST_TEST(written == 6u);
        // others are served meanwhile
        for (unsigned i = 0; i < 100; i++) {
            BOOST_REQUIRE(channel.call("echo", Body::copy("beside")).ok());
            BOOST_REQUIRE((up.try_write(numbered(written, 1000)) == Status::would_block));
        }
        Event room;
        up.start_write(numbered(written, 1000), [&](Status status) {
            if (status == Status::ok) {
                room.set();
            }
        });
        BOOST_REQUIRE(held.entered.wait());
        BOOST_TEST(!room.wait(0ms));
        for (uint64_t i = 0; i <= written; i++) {
            const Part part = held.parts->read();
            BOOST_REQUIRE(part);
            BOOST_REQUIRE(is_numbered(part.body, i, 1000));
        }
        BOOST_TEST(room.wait());
        BOOST_TEST((held.parts->try_read().status == Status::would_block));
        BOOST_TEST((up.finish() == Status::ok));
        BOOST_TEST(held.parts->read().last);
        held.responder->reply({});
        BOOST_TEST(call.get().ok());
    }
}

BOOST_AUTO_TEST_CASE(a_writer_that_is_slow_is_waited_for)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server);
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    auto [down, call] = channel.open("hold", {});
    BOOST_TEST((down.try_read().status == Status::would_block));
    BOOST_REQUIRE(held.entered.wait());
    for (uint64_t i = 0; i < 10; i++) {
        Event come;
        Part got;
        down.start_read([&](Part part) {
            got = std::move(part);
            come.set();
        });
        BOOST_TEST(!come.wait(0ms));
        BOOST_TEST((held.parts->write(numbered(i, 100000)) == Status::ok));
        BOOST_REQUIRE(come.wait());
        BOOST_TEST(is_numbered(got.body, i, 100000));
    }
    // Written before the answer: still read behind it.
    BOOST_TEST((held.parts->write(numbered(10, 100000)) == Status::ok));
    BOOST_TEST((held.parts->write(Body()) == Status::ok));
    held.responder->reply(Body::copy("done"));
    BOOST_TEST(call.get().value().text() == "done");
    BOOST_TEST(is_numbered(down.read().body, 10, 100000));
    const Part empty = down.read();
    BOOST_TEST((empty && empty.body.empty()));
    BOOST_TEST(down.read().last);
    BOOST_TEST((held.parts->write(Body()) == Status::closed));
    BOOST_TEST((held.parts->read().status == Status::closed));
}

BOOST_AUTO_TEST_CASE(a_small_call_is_served_while_streams_run)
{
    StreamServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    std::atomic<bool> stop      = false;
    std::atomic<unsigned> parts = 0;
    std::thread busy([&] {
        CallOptions options;
        options.timeout     = 5 * patience;
        auto [stream, call] = channel.open("echo parts", {}, options, narrow);
        while (!stop && (stream.write(numbered(0, part_size)) == Status::ok) &&
               stream.read()) {
            parts++;
        }
        stream.finish();
        call.get();
    });
    // Each call has a part before and a part behind it.
    const auto late = std::chrono::steady_clock::now() + patience;
    for (unsigned i = 0; i < 50; i++) {
        const unsigned before = parts;
        BOOST_REQUIRE(channel.call("echo", Body::copy("small")).ok());
        while ((parts == before) && (std::chrono::steady_clock::now() < late)) {
            std::this_thread::yield();
        }
    }
    stop = true;
    busy.join();
    BOOST_TEST(parts >= 50u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
