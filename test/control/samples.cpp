// SPDX-License-Identifier: BSD-3-Clause

#include "samples.hpp"

#include <stdexcept>

namespace be::control::test {

ConnectInfo sample_info(std::uint64_t fabric_id)
{
    ConnectInfo info;

    info.fabric_id        = fabric_id;
    info.qps              = {{0x123456, 0xabcdef}, {7, 0}, {0xffffff, 0xffffff}};
    info.gid              = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    info.lid              = 0xfffe;
    info.link_layer       = 1;
    info.mtu              = 5;
    info.max_rd_atomic    = 16;
    info.segment_size     = 8192;
    info.initial_messages = 2;
    info.cell_address     = 0x7fff12345678;
    info.cell_rkey        = 0xdeadbeef;
    info.data_version     = 2;
    info.byte_unit        = 256;
    info.initial_units    = 0x89abcdef;
    info.session          = 0xfedcba9876543210;
    info.epoch            = 3;
    info.control          = *Address::parse("127.0.0.1:4000");
    return info;
}

RecoverInfo sample_recovery(std::uint64_t fabric_id)
{
    return {7, path_rdma, {1, 2, 3, 4, 5, 0xffffffff}, sample_info(fabric_id)};
}

Identity random_identity()
{
    return {random_fabric_id(), random_token()};
}

std::vector<Message> sample_messages()
{
    static constexpr std::uint8_t header[]  = {1, 2, 3};
    static constexpr std::uint8_t payload[] = {4, 5, 6, 7};
    Offer offer{protocol_major, protocol_minor, 3, random_nonce()};
    auto info = sample_info(1);

    return {Challenge{offer},
            Hello{offer, 1, 2, Proof{1, 2, 3}},
            Welcome{0, 3, Proof{4, 5, 6}},
            Connect{info},
            Accept{info},
            Ready{},
            Refuse{Reason::incompatible, "mtu differs"},
            Ping{17},
            Pong{18},
            Goodbye{},
            Recover{sample_recovery(1)},
            Recovered{5},
            Probe{2},
            Data{{3, 4, header, payload}}};
}

std::vector<std::uint8_t> encoded(const Message &message)
{
    std::vector<std::uint8_t> bytes;

    encode(message, bytes);
    return bytes;
}

std::vector<Message> decoded(std::span<const std::uint8_t> bytes)
{
    std::vector<Message> messages;
    FrameReader reader;

    reader.set_limit(max_frame_with_data);
    while (!bytes.empty()) {
        if (reader.read(bytes) != FrameReader::Status::complete) {
            throw std::runtime_error("output does not consist of whole frames");
        }
        messages.push_back(std::get<Message>(decode(reader.frame())));
    }
    return messages;
}

} // namespace be::control::test
