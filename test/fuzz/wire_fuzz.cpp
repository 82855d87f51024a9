// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target: what a peer can send on the data path. The first byte chooses between the
// decoders and a flow that is fed headers, notices and cells made of the remaining bytes.
//
// Aborts when a decoder and its encoder disagree, or when an invariant of the flow breaks:
// whatever a peer says, only its own credit may suffer.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/flow.hpp"

using namespace be::core;

namespace {

void require(bool good)
{
    if (!good) {
        std::abort();
    }
}

void decode_all(std::span<const std::byte> input)
{
    DataHeader header;

    if (decode(input, header) == DecodeError::none) {
        std::byte again[data_header_size];

        encode(header, again);
        require(std::memcmp(again, input.data(), data_header_size) == 0);
    } else {
        require(header == DataHeader{});
    }

    if (input.size() >= sizeof(uint64_t)) {
        uint64_t word;

        std::memcpy(&word, input.data(), sizeof(word));
        require(pack(unpack_cell(word)) == word);
    }

    if (input.size() >= sizeof(uint32_t)) {
        uint32_t immediate;

        std::memcpy(&immediate, input.data(), sizeof(immediate));
        if (auto notice = decode_notice(immediate)) {
            require(encode(*notice) == immediate);
        }
    }
}

/* Consumes the input as little numbers; zeros when it has run out. */
class Bytes {
public:
    explicit Bytes(std::span<const std::byte> input) : m_input(input)
    {
    }

    bool empty() const
    {
        return m_input.empty();
    }

    template<typename Number>
    Number take()
    {
        Number number    = 0;
        std::size_t size = std::min(sizeof(number), m_input.size());

        std::memcpy(&number, m_input.data(), size);
        m_input = m_input.subspan(size);
        return number;
    }

private:
    std::span<const std::byte> m_input;
};

/* Two peers: one says what the input says, the other is honest and must get its due. */
void drive_flow(std::span<const std::byte> input)
{
    constexpr uint32_t capacity = 16;
    FlowConfig config;

    config.pool = {.capacity = capacity, .max_capacity = capacity, .share_cap = 8};
    Flow flow(config);
    Bytes bytes(input);
    Action storage[3];
    Actions actions(storage);
    uint32_t liar = *flow.join(0), honest = *flow.join(0);
    uint32_t in_hand = 0;
    uint64_t now     = 0;

    while (!bytes.empty()) {
        uint8_t event = bytes.take<uint8_t>();

        now += event * 1000;
        actions.clear();
        switch (event % 8) {
        case 0:
        case 1:
            /* Beyond its grant it would take receives of others: then the driver breaks the
             * connection, and so the liar starts again here. */
            if (flow.granted(liar) == flow.pool().arrived(liar)) {
                flow.leave(liar, now, actions);
                liar = *flow.join(now);
                break;
            }
            flow.arrival(liar, bytes.take<uint32_t>(), bytes.take<uint32_t>(), now,
                         actions);
            ++in_hand;
            break;
        case 2:
            flow.request(liar, bytes.take<uint32_t>(), now, actions);
            break;
        case 3:
            flow.answered(liar, bytes.take<uint32_t>(), now, actions);
            break;
        case 4:
            flow.credit_update(liar, bytes.take<uint32_t>(), now, actions);
            break;
        case 5: {
            uint8_t queued = bytes.take<uint8_t>();

            for (; (queued != 0) && flow.admit_message(liar); --queued) {
                DataHeader header;

                flow.stamp(liar, header);
            }
            flow.blocked(liar, queued, now, actions);
            flow.cancelled(liar, queued / 2u, now, actions);
            break;
        }
        case 6:
            flow.reposted(in_hand, now, actions);
            in_hand = 0;
            break;
        default:
            if (flow.granted(honest) != flow.pool().arrived(honest)) {
                flow.arrival(honest, 0, flow.pool().arrived(honest), now, actions);
                ++in_hand;
            }
        }
        require(flow.check().empty());
        require(flow.pool().posted() + in_hand == capacity);
    }

    /* With all receives posted the honest one has its floor. */
    flow.reposted(in_hand, now, actions);
    require(flow.granted(honest) - flow.pool().arrived(honest) >=
            flow.stats(honest).floor);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size)
{
    std::span<const std::byte> input = std::as_bytes(std::span(data, size));

    if (input.empty()) {
        decode_all(input);
    } else if (input.front() == std::byte{0}) {
        drive_flow(input.subspan(1));
    } else {
        decode_all(input.subspan(1));
        decode_all(input);
    }
    return 0;
}
