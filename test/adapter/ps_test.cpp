// SPDX-License-Identifier: BSD-3-Clause
//
// The parameter server.
#include "fixture.hpp"

#include "adapter/ps/messages.hpp"
#include "adapter/ps/push_log.hpp"
#include "adapter/runtime_workers.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <thread>

#include <unistd.h>

namespace be::test {

namespace {

using ps::Key;
using ps::Rule;

struct PsServer {
    explicit PsServer(const ps::ServerOptions &options = {}) :
        server(runtime), parameters(server, options)
    {
    }
    std::string start()
    {
        server.start();
        return server.address();
    }
    Runtime runtime;
    Server server;
    ps::Server parameters;
};

ps::WorkerOptions to_servers(const std::vector<std::string> &addresses)
{
    ps::WorkerOptions options;
    for (const std::string &address : addresses) {
        options.servers.push_back({address});
    }
    return options;
}

std::span<const std::byte> bytes_of(const std::vector<float> &numbers)
{
    return std::as_bytes(std::span(numbers));
}

ps::Pushed push_one(ps::Worker &worker, Rule rule, Key key,
                    const std::vector<float> &value, float rate = 1)
{
    const std::span<const std::byte> bytes = bytes_of(value);
    return worker.push(rule, std::span(&key, 1), std::span(&bytes, 1), rate);
}

std::vector<float> pull_one(ps::Worker &worker, Key key)
{
    const ps::Pulled pulled = worker.pull(std::span(&key, 1));
    BOOST_REQUIRE_MESSAGE(pulled.ok(), pulled.text);
    const auto numbers = pulled.values[0].as<float>();
    return {numbers.begin(), numbers.end()};
}

std::string temporary(const char *name)
{
    const char *folder = getenv("TMPDIR");
    return std::string(folder != nullptr ? folder : "/tmp") + "/be-" + name + "." +
           std::to_string(getpid());
}

} // namespace

BOOST_AUTO_TEST_SUITE(parameters)

BOOST_AUTO_TEST_CASE(values_of_all_sizes_on_several_servers)
{
    PsServer servers[3];
    Runtime runtime;
    ps::Worker worker(runtime, to_servers({servers[0].start(), servers[1].start(),
                                           servers[2].start()}));
    std::vector<Key> keys;
    std::vector<std::vector<std::byte>> values;
    std::vector<std::span<const std::byte>> spans;
    size_t per_server[3] = {};

    for (unsigned i = 0; i < 300; i++) {
        keys.push_back(i * 12345);
        values.push_back(pattern((i * i * 7) % 20000, i));
        per_server[worker.server_of(keys.back())]++;
    }
    spans.assign(values.begin(), values.end());
    const ps::Pushed pushed = worker.push(Rule::assign, keys, spans);
    BOOST_TEST(pushed.ok(), pushed.text);
    for (unsigned i = 0; i < 3; i++) {
        BOOST_TEST(servers[i].parameters.size() == per_server[i]);
        BOOST_TEST(per_server[i] > 50u);
    }
    keys.push_back(999); // of nobody
    const ps::Pulled pulled = worker.pull(keys);
    BOOST_TEST(pulled.ok(), pulled.text);
    for (unsigned i = 0; i < 300; i++) {
        BOOST_REQUIRE(pulled.values[i].found);
        BOOST_REQUIRE(pulled.values[i].version == 1u);
        BOOST_REQUIRE(std::ranges::equal(pulled.values[i].bytes, values[i]));
    }
    BOOST_TEST(!pulled.values[300].found);
    BOOST_TEST(worker.pull({}).ok());
    BOOST_TEST(worker.push(Rule::sum, {}, {}).ok());
    BOOST_CHECK_THROW(worker.push(Rule::sum, keys, {}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_further_server_moves_only_its_share)
{
    Runtime runtime;
    std::vector<std::string> nobody(4, "127.0.0.1:1");
    ps::Worker four(runtime, to_servers(nobody));
    nobody.emplace_back("127.0.0.1:1");
    ps::Worker five(runtime, to_servers(nobody));
    unsigned moved = 0;
    for (Key key = 0; key < 10000; key++) {
        if (four.server_of(key) != five.server_of(key)) {
            BOOST_REQUIRE(five.server_of(key) == 4u);
            moved++;
        }
    }
    BOOST_TEST(moved > 1700u);
    BOOST_TEST(moved < 2300u);
}

BOOST_AUTO_TEST_CASE(rules)
{
    ps::ServerOptions options;
    options.update = [](Key key, std::vector<std::byte> &value,
                        std::span<const std::byte> pushed, float rate) {
        value.assign(pushed.rbegin(), pushed.rend());
        value.push_back(static_cast<std::byte>(key + static_cast<unsigned>(rate)));
    };
    PsServer server(options);
    Runtime runtime;
    ps::Worker worker(runtime, to_servers({server.start()}));

    BOOST_TEST(push_one(worker, Rule::sum, 1, {1, 2}).ok());
    BOOST_TEST(push_one(worker, Rule::sum, 1, {10, 20}).ok());
    BOOST_TEST((pull_one(worker, 1) == std::vector<float>{11, 22}));
    BOOST_TEST(push_one(worker, Rule::sgd, 1, {2, 4}, 0.5f).ok());
    BOOST_TEST((pull_one(worker, 1) == std::vector<float>{10, 20}));
    const ps::Pushed other = push_one(worker, Rule::sum, 1, {1, 2, 3});
    BOOST_TEST(other.ok());
    BOOST_TEST(other.mismatched == 1u);
    BOOST_TEST((pull_one(worker, 1) == std::vector<float>{10, 20}));
    BOOST_TEST(push_one(worker, Rule::assign, 1, {5}).ok());
    BOOST_TEST((pull_one(worker, 1) == std::vector<float>{5}));

    const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}};
    const std::span<const std::byte> span(bytes);
    const Key key = 7;
    BOOST_TEST(worker.push(Rule::user, std::span(&key, 1), std::span(&span, 1), 3).ok());
    std::vector<std::byte> value;
    BOOST_TEST(server.parameters.get(7, value));
    BOOST_TEST(
            (value == std::vector<std::byte>{std::byte{2}, std::byte{1}, std::byte{10}}));
    BOOST_TEST(!server.parameters.get(8, value));
}

// While values are pulled, pushes must not change them under the transport's hands: each
// value that comes back is of one moment.
BOOST_AUTO_TEST_CASE(pulls_and_pushes_at_once)
{
    PsServer server;
    const std::string address = server.start();
    std::atomic<bool> stop    = false;
    std::atomic<unsigned> bad = 0; // Boost.Test's macros are for one thread
    std::thread pusher([&] {
        Runtime runtime;
        ps::Worker worker(runtime, to_servers({address}));
        for (float i = 1; !stop; i++) {
            bad += !push_one(worker, Rule::assign, 1, std::vector<float>(30000, i)).ok();
        }
    });
    Runtime runtime;
    ps::Worker worker(runtime, to_servers({address}));
    float last = 0;
    for (unsigned i = 0; i < 300; i++) {
        const auto value = pull_one(worker, 1);
        if (!value.empty()) {
            BOOST_REQUIRE((value == std::vector<float>(30000, value[0])));
            BOOST_REQUIRE(value[0] >= last);
            last = value[0];
        }
    }
    stop = true;
    pusher.join();
    BOOST_TEST(bad == 0u);
}

BOOST_AUTO_TEST_CASE(pushes_are_applied_once_through_failing_connections)
{
    constexpr unsigned threads = 3;
    // BE_PUSHES: of each worker
    const char *wanted    = std::getenv("BE_PUSHES");
    const unsigned pushes = (wanted != nullptr) ?
                                    static_cast<unsigned>(std::stoul(wanted)) :
                                    3000;
    PsServer server;
    Runtime runtime;
    const std::string address     = server.start();
    std::atomic<unsigned> running = threads;
    std::atomic<uint64_t> done    = 0;
    std::atomic<unsigned> bad     = 0; // Boost.Test's macros are for one thread
    std::vector<std::thread> all;

    for (unsigned t = 0; t < threads; t++) {
        all.emplace_back([&, t] {
            ps::Worker worker(runtime, to_servers({address}));
            CallOptions options;
            options.max_attempts = 100000;
            options.timeout      = patience;
            const Key keys[]     = {1, 2 + t};
            for (unsigned i = 0; i < pushes; i++) {
                const std::vector<float> one(101, 1.0f);
                const std::span<const std::byte> values[] = {bytes_of(one),
                                                             bytes_of(one)};
                const ps::Pushed pushed = worker.push(Rule::sum, keys, values, 1,
                                                      options);
                if (!pushed.ok()) {
                    bad++;
                    break;
                }
                done++;
            }
            running--;
        });
    }
    // cuts all connections, of either side in turn, each time after some progress
    for (unsigned cut = 0; running != 0; cut++) {
        const uint64_t before = done;
        while ((done < before + 50) && (running != 0)) {
            std::this_thread::yield();
        }
        adapter::Worker &side = (cut % 2 == 0) ? runtime.workers()->at(0) :
                                                 server.runtime.workers()->at(0);
        side.run([&] { side.fail_all("cut by the test"); });
    }
    for (std::thread &thread : all) {
        thread.join();
    }
    BOOST_TEST(bad == 0u);
    ps::Worker worker(runtime, to_servers({address}));
    // below 2^24, so that a float counts
    BOOST_REQUIRE(threads * pushes < 1u << 24);
    const auto sum = static_cast<float>(threads * pushes);
    BOOST_TEST((pull_one(worker, 1) == std::vector<float>(101, sum)));
    for (unsigned t = 0; t < threads; t++) {
        BOOST_TEST((pull_one(worker, 2 + t) ==
                    std::vector<float>(101, static_cast<float>(pushes))));
    }
    BOOST_TEST_MESSAGE(server.parameters.repeated()
                       << " pushes came twice, " << runtime.stats().failures
                       << " connections failed");
    BOOST_TEST(runtime.stats().failures > 10u);
}

BOOST_AUTO_TEST_CASE(the_log_of_pushes)
{
    using ps::PushLog;
    PushLog log;
    uint64_t result = 0;
    BOOST_TEST((log.look(1, 1, &result) == PushLog::Verdict::fresh));
    log.note(1, 77);
    BOOST_TEST((log.look(1, 1, &result) == PushLog::Verdict::repeated));
    BOOST_TEST(result == 77u);
    BOOST_TEST((log.look(3, 1, &result) == PushLog::Verdict::fresh));
    log.note(3, 0);
    BOOST_TEST((log.look(2, 2, &result) == PushLog::Verdict::fresh)); // out of order
    BOOST_TEST((log.look(1, 2, &result) == PushLog::Verdict::refused)); // answered before
    log.note(2, 0);
    for (uint64_t i = 4; i < 2 + PushLog::window; i++) {
        BOOST_REQUIRE((log.look(i, 2, &result) == PushLog::Verdict::fresh));
        log.note(i, 0);
    }
    BOOST_TEST((log.look(90000, 2, &result) == PushLog::Verdict::refused)); // too many
    BOOST_TEST((log.look(90000, 5, &result) == PushLog::Verdict::fresh));
}

BOOST_AUTO_TEST_CASE(malformed_requests_are_refused_and_change_nothing)
{
    PsServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    const auto words = [](std::vector<uint64_t> values) {
        return Body::copy(std::as_bytes(std::span(values)));
    };
    for (const Body &bad :
         {Body(), words({1}), words({UINT64_MAX, 1}), words({2, 5}), words({1, 5, 6})}) {
        BOOST_TEST((channel.call(ps::pull_method, bad).status == Status::handler_failed));
    }
    const uint64_t one = 0x3f80000000000000; // rule 0, rate 1
    for (const Body &bad :
         {Body(), words({1, 1, 1, one}), words({1, 1, 1, one, UINT64_MAX}),
          words({1, 1, 1, one, 1}), words({1, 1, 1, one, 1, 5, 8}),
          words({1, 1, 1, one, 1, 5, 8, 0, 0}),
          words({1, 1, 1, one, 1, 5, UINT64_MAX - 1}),
          words({1, 1, 1, one, 2, 5, UINT64_MAX - 7, 6, 16, 0}),
          words({1, 1, 1, one | 9, 1, 5, 0}), words({1, 1, 1, one | 3, 1, 5, 0})}) {
        BOOST_TEST((channel.call(ps::push_method, bad).status == Status::handler_failed));
    }
    BOOST_TEST(server.parameters.size() == 0u);
    BOOST_TEST(channel.call(ps::push_method, words({1, 1, 1, one, 1, 5, 8, 0})).ok());
    BOOST_TEST(server.parameters.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_loaded_and_a_damaged_one_is_not)
{
    const std::string path = temporary("snapshot");
    PsServer server;
    for (Key key = 0; key < 100; key++) {
        server.parameters.set(key, pattern(key * 31, static_cast<unsigned>(key)));
    }
    server.parameters.save(path);
    {
        PsServer other;
        other.parameters.load(path);
        BOOST_TEST(other.parameters.size() == 100u);
        std::vector<std::byte> value;
        for (Key key = 0; key < 100; key++) {
            BOOST_REQUIRE(other.parameters.get(key, value));
            BOOST_REQUIRE((value == pattern(key * 31, static_cast<unsigned>(key))));
        }
    }
    std::string all;
    {
        std::ifstream file(path, std::ios::binary);
        all.assign(std::istreambuf_iterator<char>(file), {});
    }
    PsServer empty;
    const auto refused = [&](const std::string &content) {
        std::ofstream(path, std::ios::binary) << content;
        BOOST_CHECK_EXCEPTION(empty.parameters.load(path), std::runtime_error,
                              [&](const std::runtime_error &error) {
                                  return std::string(error.what()).find(path) !=
                                         std::string::npos;
                              });
        BOOST_TEST(empty.parameters.size() == 0u);
    };
    for (size_t length : {0ul, 3ul, 8ul, 24ul, all.size() / 2, all.size() - 1}) {
        refused(all.substr(0, length));
    }
    for (size_t at :
         {0ul, 4ul, 8ul, 16ul, all.size() / 2, all.size() - 16, all.size() - 1}) {
        std::string damaged = all;
        damaged[at] ^= 1;
        refused(damaged);
    }
    unlink(path.c_str());
    BOOST_CHECK_THROW(empty.parameters.load(path), std::runtime_error);
    BOOST_CHECK_THROW(empty.parameters.save("/nonexistent/x"), std::system_error);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
