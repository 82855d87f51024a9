// SPDX-License-Identifier: BSD-3-Clause
//
// A server and its clients in one process, each on a runtime of its own.
#pragma once

#include <byteexpress/byteexpress.hpp>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace be::test {

using namespace std::chrono_literals;

// What the tests wait for comes within this time, or they fail.
inline constexpr auto patience = 20s;

inline std::vector<std::byte> pattern(size_t size, unsigned seed)
{
    std::vector<std::byte> bytes(size);
    uint32_t state = seed * 2654435761u + 1;
    for (std::byte &byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte  = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

inline bool same(const Body &body, std::span<const std::byte> bytes)
{
    return (body.size() == bytes.size()) &&
           (bytes.empty() ||
            (std::memcmp(body.bytes().data(), bytes.data(), bytes.size()) == 0));
}

// Something that happens once.
class Event {
public:
    void set()
    {
        std::lock_guard lock(m_mutex);
        m_set = true;
        m_condition.notify_all();
    }
    bool wait(std::chrono::milliseconds limit = patience)
    {
        std::unique_lock lock(m_mutex);
        return m_condition.wait_for(lock, limit, [this] { return m_set; });
    }
    // It may happen once more.
    void reset()
    {
        std::lock_guard lock(m_mutex);
        m_set = false;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_condition;
    bool m_set = false;
};

// Answers "echo" with what it got.
struct EchoServer {
    explicit EchoServer(const ServerOptions &options = {}, unsigned threads = 1) :
        runtime(RuntimeOptions{.threads = threads}), server(runtime, options)
    {
        server.add("echo", [](const Request &request) { return request.body(); });
    }
    std::string start()
    {
        server.start();
        return server.address();
    }

    Runtime runtime;
    Server server;
};

// A request counts as active until its answer is on its way, which the caller may have
// noticed before.
inline bool becomes_idle(const Server &server)
{
    const auto late = std::chrono::steady_clock::now() + patience;
    while (server.stats().active != 0) {
        if (std::chrono::steady_clock::now() > late) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

inline ChannelOptions channel_to(std::vector<std::string> addresses)
{
    ChannelOptions options;
    options.addresses = std::move(addresses);
    return options;
}

} // namespace be::test
