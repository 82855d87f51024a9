// SPDX-License-Identifier: BSD-3-Clause
//
// Data frames: their form, their course through a session, and the account of what waits.

#include "control/block_cache.hpp"
#include "control/data_flow.hpp"
#include "control/data_frame.hpp"
#include "control/frame.hpp"
#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes pattern(std::size_t size, unsigned seed)
{
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(seed));
    return bytes;
}

bool same(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// What an end has sent, as one stream.
Bytes stream_of(End &end)
{
    Bytes stream;
    for (auto output = end.session->take_output(); !output.empty();
         output      = end.session->take_output()) {
        stream.insert(stream.end(), output.bytes.begin(), output.bytes.end());
    }
    return stream;
}

} // namespace

BOOST_AUTO_TEST_SUITE(data)

BOOST_FIXTURE_TEST_CASE(travels_either_way, SessionPair)
{
    advance_to(State::established);
    const std::pair<std::size_t, std::size_t> sizes[] =
            {{0, 0}, {1, 0}, {0, 1}, {13, 4097}, {max_data_header, max_data_payload}};

    for (auto [header_size, payload_size] : sizes) {
        for (auto [from, to] :
             {std::pair(&server, &client), std::pair(&client, &server)}) {
            auto header  = pattern(header_size, 1);
            auto payload = pattern(payload_size, 7);
            DataView sent{200, 0xfffffffe, header, payload};
            BOOST_TEST(from->session->data(DataFrame(sent).copy()));
            auto stream = stream_of(*from);
            BOOST_TEST(to->session->receive(stream, now).empty());

            auto event = to->session->next_event();
            BOOST_REQUIRE(event.has_value());
            BOOST_REQUIRE(event->kind == Kind::data);
            BOOST_TEST(event->data.kind == 200);
            BOOST_TEST(event->data.epoch == 0xfffffffeu);
            BOOST_TEST(same(event->data.header, header));
            BOOST_TEST(same(event->data.payload, payload));
            BOOST_TEST(!to->session->next_event().has_value());
        }
    }
}

BOOST_FIXTURE_TEST_CASE(receiving_stops_after_each_and_keeps_the_order, SessionPair)
{
    advance_to(State::established);
    auto one = pattern(5000, 1), two = pattern(10, 2);
    client.session->recovered(1);
    client.session->data(DataFrame({.payload = one}).copy());
    client.session->recovered(2);
    client.session->data(DataFrame({.payload = two}).copy());
    client.session->recovered(3);

    auto stream = stream_of(client);
    auto next   = [&] { return server.session->next_event().value(); };
    auto rest   = server.session->receive(stream, now);
    BOOST_TEST(next().recover.epoch == 1u);
    BOOST_TEST(same(next().data.payload, one));
    BOOST_TEST(!server.session->next_event().has_value());
    BOOST_TEST(!rest.empty());
    rest = server.session->receive(rest, now);
    BOOST_TEST(next().recover.epoch == 2u);
    BOOST_TEST(same(next().data.payload, two));
    BOOST_TEST(!server.session->next_event().has_value());
    BOOST_TEST(server.session->receive(rest, now).empty());
    BOOST_TEST(next().recover.epoch == 3u);
}

// The rest of a long frame may be read to where it belongs.
BOOST_FIXTURE_TEST_CASE(space_of_a_frame_is_filled_directly, SessionPair)
{
    advance_to(State::established);
    auto payload = pattern(50000, 3);
    client.session->data(DataFrame({.payload = payload}).copy());
    auto stream = stream_of(client);

    BOOST_TEST(server.session->space().empty());
    std::size_t at = 100;
    server.session->receive({stream.data(), at}, now);
    while (at < stream.size()) {
        auto space = server.session->space();
        BOOST_TEST_REQUIRE(space.size() == stream.size() - at);
        auto part = std::min<std::size_t>(space.size(), 16384);
        std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), part,
                    space.begin());
        server.session->filled(part);
        server.session->receive({}, now);
        at += part;
    }
    BOOST_TEST(server.session->space().empty());
    BOOST_TEST(same(server.session->next_event().value().data.payload, payload));
    deliver(server, Recovered{6});
    BOOST_TEST(server.last(Kind::recovered).recover.epoch == 6u);
}

BOOST_AUTO_TEST_CASE(nothing_without_the_feature)
{
    for (bool server_lacks_it : {true, false}) {
        SessionPair pair;
        (server_lacks_it ? pair.server : pair.client).fabric.settings.features =
                ~feature_tcp_path;
        pair.advance_to(State::established);
        for (auto *either : {&pair.server, &pair.client}) {
            BOOST_TEST(!either->session->data(DataFrame({}).copy()));
            BOOST_TEST(either->session->take_output().empty());
            pair.deliver(*either, Data{});
            BOOST_CHECK(either->closed_for() == Reason::unexpected);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(too_long_is_malformed, SessionPair)
{
    auto header  = pattern(max_data_header + 1, 0);
    auto payload = pattern(max_data_payload + 1, 0);
    for (const auto &[view, name] :
         {std::pair(DataView{.header = header}, "header"),
          std::pair(DataView{.payload = payload}, "payload")}) {
        server.events.clear();
        advance_to(State::established);
        deliver(server, Data{view});
        auto detail = server.last(Kind::closed).detail;
        BOOST_TEST(detail.find(std::string("Data: size of ") + name + " is 6") == 0u);
        BOOST_CHECK(server.closed_for() == Reason::malformed);
    }
}

// What waits is limited by who sends it, not by ending the connection.
BOOST_FIXTURE_TEST_CASE(data_does_not_count_as_messages_unread, SessionPair)
{
    client.fabric.settings.max_queued = 2000;
    advance_to(State::established);
    auto payload = pattern(10000, 0);
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(client.session->data(DataFrame({.payload = payload}).copy()));
        client.session->recovered(1);
    }
    BOOST_TEST(!client.session->finished());
    for (int i = 0; (i < 1000) && !client.session->finished(); ++i) {
        client.session->recovered(1);
    }
    BOOST_CHECK(client.closed_for() == Reason::resources);
    BOOST_TEST(client.session->clogged());
}

BOOST_FIXTURE_TEST_CASE(who_does_not_read_expects_no_sign_of_life, SessionPair)
{
    server.fabric.settings.peer_timeout = 30s;
    advance_to(State::established);
    server.session->set_paused(true, now);
    unsigned pings = 0;
    for (int second = 0; second < 300; ++second) {
        advance_clock(1s);
        server.session->tick(now);
        for (const auto &message : server.output()) {
            pings += std::holds_alternative<Ping>(message);
        }
    }
    BOOST_TEST(!server.session->finished());
    BOOST_TEST(pings >= 29u); // its own signs of life go on
    BOOST_TEST(pings <= 31u);

    // From here on its time runs as ever.
    server.session->set_paused(false, now);
    for (int second = 0; second < 30; ++second) {
        BOOST_TEST(!server.session->finished());
        advance_clock(1s);
        server.session->tick(now);
    }
    BOOST_CHECK(server.closed_for() == Reason::timeout);
}

BOOST_AUTO_TEST_CASE(account_of_what_waits)
{
    DataFlow flow(100);
    BOOST_TEST(flow.is_open());
    flow.add(100);
    BOOST_TEST(flow.is_open()); // not more than the limit
    flow.add(60);
    BOOST_TEST(!flow.drained(10)); // nobody waits
    BOOST_TEST(!flow.is_open());
    BOOST_TEST(!flow.drained(99)); // 51 left
    BOOST_TEST(flow.drained(1));
    BOOST_TEST(!flow.drained(1)); // once
    BOOST_TEST(flow.is_open());
}

BOOST_AUTO_TEST_CASE(frames_join_the_batch_under_way)
{
    const auto frame    = [](std::uint8_t content) { return Chunk::of({content}); };
    const auto contents = [](const DataFlow::Batch &batch) {
        Bytes all;
        for (const auto &chunk : batch) {
            all.push_back(chunk.bytes[0]);
        }
        return all;
    };
    DataFlow flow(100);
    const auto first = flow.join(frame(1));
    BOOST_REQUIRE(first);
    BOOST_TEST(!flow.join(frame(2)));
    flow.post(); // something else is sent: what comes later must not overtake it
    const auto second = flow.join(frame(3));
    BOOST_REQUIRE(second);
    BOOST_TEST(contents(flow.take(first)) == (Bytes{1, 2}));
    BOOST_TEST(!flow.join(frame(4)));
    BOOST_TEST(contents(flow.take(second)) == (Bytes{3, 4}));
    BOOST_TEST(flow.join(frame(5)) != nullptr); // nobody looks at the last one again
}

// What is left of a frame goes before anything else is taken.
BOOST_AUTO_TEST_CASE(rest_of_a_frame)
{
    DataFlow flow(100);
    flow.add(10);
    flow.add_rest(20);
    BOOST_TEST(!flow.is_open());
    BOOST_TEST(!flow.drained(10)); // not only what was before it
    BOOST_TEST(!flow.is_open());
    BOOST_TEST(!flow.drained(19));
    BOOST_TEST(flow.drained(1));
    BOOST_TEST(flow.is_open());
}

BOOST_AUTO_TEST_CASE(waiting_frames_may_be_fetched)
{
    const auto frame = [](std::uint8_t content) { return Chunk::of({content}); };
    DataFlow flow(100);
    std::deque<Chunk> out;
    BOOST_TEST(flow.take_waiting(out, 2));
    BOOST_TEST(out.empty());

    const auto first = flow.join(frame(1));
    flow.join(frame(2));
    BOOST_TEST(!flow.take_waiting(out, 1)); // too many
    BOOST_TEST(flow.take_waiting(out, 2));
    BOOST_TEST_REQUIRE(out.size() == 2u);
    BOOST_TEST(out[1].bytes[0] == 2);
    const auto second = flow.join(frame(3));
    BOOST_TEST(second != nullptr); // nobody joins the first one any more
    BOOST_TEST(flow.take(first).empty());
    BOOST_TEST(flow.take_waiting(out, 2));
    BOOST_TEST(out.size() == 3u);
    BOOST_TEST(flow.take(second).empty());

    flow.post(); // what was called before must be done first
    BOOST_TEST(!flow.take_waiting(out, 2));
    const auto third = flow.join(frame(4));
    BOOST_TEST(!flow.take_waiting(out, 2));
    flow.arrived();
    BOOST_TEST(flow.take_waiting(out, 2));
    BOOST_TEST(flow.take(third).empty());
    BOOST_TEST(flow.take_waiting(out, 2));
}

BOOST_AUTO_TEST_CASE(frames_are_those_of_the_codec)
{
    FrameReader reader;
    reader.set_limit(max_frame_with_data);
    for (std::size_t header_size : {0, 1, 31, 32, 64}) {
        for (std::size_t size : {0, 1, 2, 3, 4, 5, 4095, 65535, 65536}) {
            const Bytes header  = pattern(header_size, 3);
            const Bytes payload = pattern(size, 9);
            const DataView view{.kind    = static_cast<std::uint8_t>(size),
                                .epoch   = static_cast<std::uint32_t>(header_size),
                                .header  = header,
                                .payload = payload};
            const DataFrame frame(view);
            Bytes bytes;
            for (const iovec &part : frame.parts()) {
                const auto *from = static_cast<const std::uint8_t *>(part.iov_base);
                bytes.insert(bytes.end(), from, from + part.iov_len);
            }
            BOOST_TEST_REQUIRE(bytes.size() == frame.size());
            for (std::size_t offset :
                 {std::size_t{0}, std::size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
                BOOST_TEST(
                        same(frame.copy(offset).bytes, std::span(bytes).subspan(offset)));
            }

            Bytes plain; // as FlatBuffers lays it out
            encode(Data{view}, plain);
            for (const Bytes &form : {bytes, plain}) {
                std::span<const std::uint8_t> input(form);
                BOOST_REQUIRE(reader.read(input) == FrameReader::Status::complete);
                const auto decoded = decode(reader.frame());
                BOOST_REQUIRE(std::holds_alternative<Message>(decoded));
                const auto &found = std::get<Data>(std::get<Message>(decoded)).view;
                BOOST_TEST(found.kind == view.kind);
                BOOST_TEST(found.epoch == view.epoch);
                BOOST_TEST(same(found.header, header));
                BOOST_TEST(same(found.payload, payload));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(blocks_are_used_again)
{
    constexpr std::size_t large = max_data_payload;
    BlockCache cache;
    std::vector<void *> blocks;
    for (std::size_t i = 0; i < BlockCache::most_kept + 1; ++i) {
        blocks.push_back(cache.take(large + i));
        BOOST_REQUIRE(blocks.back() != nullptr);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(blocks.back()) %
                           BlockCache::alignment ==
                   0u);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        cache.give(blocks[i], large + i); // the last one goes to the system
    }
    void *again = cache.take(BlockCache::least);
    BOOST_TEST(again == blocks[BlockCache::most_kept - 1]);
    cache.give(again, BlockCache::least);

    for (const std::size_t size :
         {std::size_t{1}, BlockCache::least - 1, BlockCache::block_size + 1}) {
        void *other = cache.take(size);
        BOOST_TEST(other != again);
        cache.give(other, size);
    }
}

BOOST_AUTO_TEST_SUITE_END()
