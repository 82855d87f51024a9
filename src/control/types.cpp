// SPDX-License-Identifier: BSD-3-Clause

#include "control/types.hpp"

#include <sstream>

namespace be::control {

namespace {

constexpr std::uint32_t max_24_bits   = 0xffffff;
constexpr std::uint8_t min_mtu        = 1; // IBV_MTU_256
constexpr std::uint8_t max_mtu        = 5; // IBV_MTU_4096
constexpr std::uint8_t max_link_layer = 2; // IBV_LINK_LAYER_ETHERNET

// "name is 7, expected 1..5"
std::string
out_of_range(const std::string &name, std::uint64_t value, const std::string &expected)
{
    std::ostringstream text;
    text << name << " is " << value << ", expected " << expected;
    return text.str();
}

std::string validate(const std::string &name, const QueuePairInfo &qp)
{
    if (qp.qpn > max_24_bits) {
        return out_of_range(name + ".qpn", qp.qpn, "at most 24 bits");
    }
    if (qp.psn > max_24_bits) {
        return out_of_range(name + ".psn", qp.psn, "at most 24 bits");
    }
    return {};
}

std::string validate_end(const ConnectInfo &info, std::size_t min_queue_pairs)
{
    if (info.fabric_id == 0) {
        return out_of_range("fabric_id", info.fabric_id, "a value other than 0");
    }
    if ((info.qps.size() < min_queue_pairs) || (info.qps.size() > max_queue_pairs)) {
        return out_of_range("number of queue pairs", info.qps.size(),
                            std::to_string(min_queue_pairs) + ".." +
                                    std::to_string(max_queue_pairs));
    }
    for (std::size_t i = 0; i < info.qps.size(); ++i) {
        auto problem = validate("qps[" + std::to_string(i) + "]", info.qps[i]);
        if (!problem.empty()) {
            return problem;
        }
    }
    if (info.link_layer > max_link_layer) {
        return out_of_range("link_layer", info.link_layer, "0..2");
    }
    if ((info.mtu < min_mtu) || (info.mtu > max_mtu)) {
        return out_of_range("mtu", info.mtu, "an ibv_mtu value, 1..5");
    }
    if (info.segment_size == 0) {
        return out_of_range("segment_size", info.segment_size, "at least 1 byte");
    }
    if (info.control.port == 0) {
        return out_of_range("control.port", info.control.port, "a TCP port");
    }
    if (info.resume && (info.session == 0)) {
        return out_of_range("session", info.session, "the one to resume");
    }
    return {};
}

} // namespace

std::string validate(const ConnectInfo &info)
{
    return validate_end(info, 1);
}

std::string validate(const DataView &data)
{
    if (data.header.size() > max_data_header) {
        return out_of_range("size of header", data.header.size(),
                            "at most " + std::to_string(max_data_header) + " bytes");
    }
    if (data.payload.size() > max_data_payload) {
        return out_of_range("size of payload", data.payload.size(),
                            "at most " + std::to_string(max_data_payload) + " bytes");
    }
    return {};
}

std::string validate(const RecoverInfo &info)
{
    if (info.path > path_tcp) {
        return out_of_range("path", info.path, "0 (RDMA) or 1 (TCP)");
    }
    return validate_end(info.connect, (info.path == path_tcp) ? 0 : 1);
}

} // namespace be::control
