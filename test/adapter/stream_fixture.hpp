// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of streams share: bodies that say where they belong, and handlers that are
// held.
#pragma once

#include "fixture.hpp"

#include "adapter/block_pool.hpp"

#include <optional>

namespace be::test {

// The number-th part: its number, then bytes that follow from it.
inline Body numbered(uint64_t number, size_t size)
{
    auto bytes = pattern(size, static_cast<unsigned>(number));
    std::memcpy(bytes.data(), &number, std::min(size, sizeof(number)));
    return Body::take(std::move(bytes));
}

inline bool is_numbered(const Body &body, uint64_t number, size_t size)
{
    return same(body, numbered(number, size).bytes());
}

// Takes the streams of "hold", and does nothing with them.
struct HeldStream {
    void add_to(Server &server, const StreamOptions &options = {})
    {
        server.add_stream_async(
                "hold",
                [this](Request its_request, Stream its_parts, Responder its_responder) {
                    request.emplace(std::move(its_request));
                    parts.emplace(std::move(its_parts));
                    responder.emplace(std::move(its_responder));
                    entered.set();
                },
                options);
    }

    std::optional<Request> request;
    std::optional<Stream> parts;
    std::optional<Responder> responder;
    Event entered;
};

// A memory of parts is let go of a little after the call has ended.
inline bool pool_becomes_empty()
{
    const auto late = std::chrono::steady_clock::now() + patience;
    while (adapter::pool_stats().live != 0) {
        if (std::chrono::steady_clock::now() > late) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

} // namespace be::test
