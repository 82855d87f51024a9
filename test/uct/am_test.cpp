// SPDX-License-Identifier: BSD-3-Clause
//
// Active messages: every way to send one, sizes around each limit, order, content.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>

using namespace uct_test;

namespace {

constexpr uint8_t am_id = 5;

// A sender, a receiver and what the receiver got.
struct Pair {
    explicit Pair(const Options &options = {}) : sender(options), receiver(options)
    {
        receiver.on_am(am_id, [this](void *data, size_t length, unsigned) {
            const auto *bytes = static_cast<const uint8_t *>(data);
            received.emplace_back(bytes, bytes + length);
            return UCS_OK;
        });
    }

    const Interfaces &both() const
    {
        return ifaces;
    }

    bool wait_for(size_t messages)
    {
        return progress_until(both(), [&] { return received.size() >= messages; });
    }

    Interface sender;
    Interface receiver;
    Endpoint ep{sender, receiver.address()};
    Interfaces ifaces{&sender, &receiver};
    std::vector<std::vector<uint8_t>> received;
};

std::vector<size_t> sizes_up_to(size_t smallest, size_t largest)
{
    std::vector<size_t> sizes;
    for (size_t power = 1; power <= largest; power *= 2) {
        for (const size_t size : {power - 1, power, power + 1}) {
            sizes.push_back(size);
        }
    }
    sizes.push_back(largest - 1);
    sizes.push_back(largest);
    std::erase_if(sizes,
                  [&](size_t size) { return (size < smallest) || (size > largest); });
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

// Sends each size with a content of its own; what arrives must be exactly that, in order.
template<typename Send>
void exchange(Pair &pair, const std::vector<size_t> &sizes, Send send)
{
    for (size_t i = 0; i < sizes.size(); ++i) {
        send(pattern(sizes[i], i), i);
    }
    BOOST_REQUIRE(pair.wait_for(sizes.size()));
    BOOST_REQUIRE_EQUAL(pair.received.size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
        BOOST_CHECK_EQUAL(pair.received[i].size(), sizes[i]);
        BOOST_CHECK_MESSAGE(pair.received[i] == pattern(sizes[i], i),
                            "content of message " << i << " of " << sizes[i] << " bytes");
    }
}

boost::test_tools::assertion_result has(const Pair &pair, uint64_t flag)
{
    boost::test_tools::assertion_result result(pair.sender.has(flag));
    result.message() << "not supported by " << transport();
    return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(am)

BOOST_AUTO_TEST_CASE(short_messages)
{
    Pair pair;
    BOOST_REQUIRE(has(pair, UCT_IFACE_FLAG_AM_SHORT));
    exchange(pair, sizes_up_to(sizeof(uint64_t), pair.sender.attr().cap.am.max_short),
             [&](const std::vector<uint8_t> &message, size_t) {
                 uint64_t header;
                 std::memcpy(&header, message.data(), sizeof(header));
                 BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                           [&] {
                                               return uct_ep_am_short(
                                                       pair.ep.handle(), am_id, header,
                                                       message.data() + sizeof(header),
                                                       message.size() - sizeof(header));
                                           }),
                                     UCS_OK);
             });
}

BOOST_AUTO_TEST_CASE(short_messages_in_pieces)
{
    Pair pair;
    BOOST_REQUIRE(has(pair, UCT_IFACE_FLAG_AM_SHORT));
    const size_t max_pieces = is_be() ? pair.sender.attr().cap.am.max_iov : 3;
    exchange(pair, sizes_up_to(sizeof(uint64_t), pair.sender.attr().cap.am.max_short),
             [&](const std::vector<uint8_t> &message, size_t i) {
                 std::vector<uct_iov_t> iov(1 + (i % max_pieces));
                 size_t offset = 0;
                 for (size_t k = 0; k < iov.size(); ++k) {
                     iov[k]        = {};
                     iov[k].buffer = const_cast<uint8_t *>(message.data()) + offset;
                     iov[k].length = (k + 1 == iov.size()) ? message.size() - offset :
                                                             message.size() / iov.size();
                     iov[k].count  = 1;
                     offset += iov[k].length;
                 }
                 BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                           [&] {
                                               return uct_ep_am_short_iov(
                                                       pair.ep.handle(), am_id,
                                                       iov.data(), iov.size());
                                           }),
                                     UCS_OK);
             });
}

BOOST_AUTO_TEST_CASE(bcopy)
{
    Pair pair;
    BOOST_REQUIRE(has(pair, UCT_IFACE_FLAG_AM_BCOPY));
    exchange(pair, sizes_up_to(0, pair.sender.attr().cap.am.max_bcopy),
             [&](const std::vector<uint8_t> &message, size_t) {
                 Packed packed{message.data(), message.size()};
                 BOOST_REQUIRE_EQUAL(retry_bcopy(pair.both(),
                                                 [&] {
                                                     return uct_ep_am_bcopy(
                                                             pair.ep.handle(), am_id,
                                                             pack, &packed, 0);
                                                 }),
                                     static_cast<ssize_t>(message.size()));
                 // Packing consumes the source: it must not be asked for what is then refused.
                 if (is_be()) {
                     BOOST_REQUIRE_EQUAL(packed.calls, 1);
                 }
             });
}

BOOST_AUTO_TEST_CASE(zcopy_with_header_and_pieces)
{
    Pair pair;
    if (!pair.sender.has(UCT_IFACE_FLAG_AM_ZCOPY)) {
        return;
    }

    const auto &cap = pair.sender.attr().cap.am;
    Memory memory(pair.sender, 4 * cap.max_zcopy);
    Completion completion;
    exchange(pair, sizes_up_to(1, cap.max_zcopy), [&](const std::vector<uint8_t> &message, size_t i) {
        // Half of the buffer in turn, at an odd address; waits before that half is used again.
        uint8_t *buffer = memory.data() + (i % 2) * 2 * cap.max_zcopy + (i % 7);
        BOOST_REQUIRE(progress_until(pair.both(),
                                     [&] { return completion.outstanding() < 2; }));
        std::copy(message.begin(), message.end(), buffer);

        const size_t header = std::min({message.size(), cap.max_hdr, (i * 37) % 300});
        std::vector<uct_iov_t> iov(1 + (i % cap.max_iov));
        size_t offset = header;
        for (size_t k = 0; k < iov.size(); ++k) {
            iov[k]        = {};
            iov[k].buffer = buffer + offset;
            iov[k].memh   = memory.memh();
            iov[k].length = (k + 1 == iov.size()) ?
                                    message.size() - offset :
                                    (message.size() - header) / iov.size();
            iov[k].count  = 1;
            offset += iov[k].length;
        }
        const std::vector<uint8_t> header_copy(message.begin(), message.begin() + header);
        uct_completion_t *comp    = completion.use();
        const ucs_status_t status = completion.started(retry(pair.both(), [&] {
            return uct_ep_am_zcopy(pair.ep.handle(), am_id, header_copy.data(), header,
                                   iov.data(), iov.size(), 0, comp);
        }));
        BOOST_REQUIRE((status == UCS_OK) || (status == UCS_INPROGRESS));
    });
    BOOST_CHECK(progress_until(pair.both(), [&] { return completion.done(); }));
    BOOST_CHECK_EQUAL(completion.status(), UCS_OK);
}

BOOST_AUTO_TEST_CASE(many_messages_both_ways_in_order)
{
    constexpr uint64_t messages = 50000;
    Pair pair;
    Endpoint back(pair.receiver, pair.sender.address());
    uint64_t there = 0, here = 0, wrong = 0;

    const auto expect_next = [&wrong](uint64_t &next) {
        return [&next, &wrong](void *data, size_t, unsigned) {
            uint64_t value;
            std::memcpy(&value, data, sizeof(value));
            wrong += (value != next++);
            return UCS_OK;
        };
    };
    pair.receiver.on_am(am_id, expect_next(there));
    pair.sender.on_am(am_id, expect_next(here));

    for (uint64_t i = 0; i < messages; ++i) {
        BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                  [&] {
                                      return uct_ep_am_short(pair.ep.handle(), am_id, i,
                                                             nullptr, 0);
                                  }),
                            UCS_OK);
        BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                  [&] {
                                      return uct_ep_am_short(back.handle(), am_id, i,
                                                             nullptr, 0);
                                  }),
                            UCS_OK);
    }
    BOOST_REQUIRE(progress_until(pair.both(), [&] {
        return (there == messages) && (here == messages);
    }));
    BOOST_CHECK_EQUAL(wrong, 0u);
}

BOOST_AUTO_TEST_CASE(to_oneself)
{
    if (transport() == "tcp") {
        return; // its connection to itself works, but only across interfaces
    }
    Interface iface;
    Endpoint ep(iface, iface.address());
    std::vector<uint8_t> received;
    iface.on_am(am_id, [&](void *data, size_t length, unsigned) {
        const auto *bytes = static_cast<const uint8_t *>(data);
        received.assign(bytes, bytes + length);
        return UCS_OK;
    });

    for (uint64_t i = 0; i < 1000; ++i) {
        const std::vector<uint8_t> message = pattern(64 + i % 900, i);
        Packed packed{message.data(), message.size()};
        received.clear();
        BOOST_REQUIRE_EQUAL(retry_bcopy({&iface},
                                        [&] {
                                            return uct_ep_am_bcopy(ep.handle(), am_id,
                                                                   pack, &packed, 0);
                                        }),
                            static_cast<ssize_t>(message.size()));
        BOOST_REQUIRE(progress_until({&iface}, [&] { return !received.empty(); }));
        BOOST_REQUIRE(received == message);
    }
}

BOOST_AUTO_TEST_CASE(many_endpoints_to_one_peer)
{
    constexpr size_t endpoints = 200;
    Pair pair;
    std::vector<std::unique_ptr<Endpoint>> eps;
    for (size_t i = 0; i < endpoints; ++i) {
        eps.push_back(std::make_unique<Endpoint>(pair.sender, pair.receiver.address()));
    }
    for (uint64_t i = 0; i < 10 * endpoints; ++i) {
        BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                  [&] {
                                      return uct_ep_am_short(eps[i % endpoints]->handle(),
                                                             am_id, i, nullptr, 0);
                                  }),
                            UCS_OK);
    }
    BOOST_REQUIRE(pair.wait_for(10 * endpoints));

    std::vector<uint64_t> values;
    for (const auto &message : pair.received) {
        values.push_back(0);
        std::memcpy(&values.back(), message.data(), sizeof(uint64_t));
    }
    std::sort(values.begin(), values.end());
    for (uint64_t i = 0; i < values.size(); ++i) {
        BOOST_REQUIRE_EQUAL(values[i], i);
    }

    // Half of them go; the others work on.
    eps.resize(endpoints / 2);
    for (auto &ep : eps) {
        BOOST_REQUIRE_EQUAL(retry(pair.both(),
                                  [&] {
                                      return uct_ep_am_short(ep->handle(), am_id, 1,
                                                             nullptr, 0);
                                  }),
                            UCS_OK);
    }
    BOOST_CHECK(pair.wait_for(10 * endpoints + eps.size()));
}

BOOST_AUTO_TEST_SUITE_END()
