// SPDX-License-Identifier: BSD-3-Clause
//
// Values that the tests share.

#pragma once

#include "control/codec.hpp"
#include "control/session.hpp"

#include <vector>

namespace be::control::test {

// Every feature that the channel itself knows.
constexpr std::uint64_t all_features = feature_recovery | feature_tcp_path;

// A valid end of the fabric `fabric_id`.
ConnectInfo sample_info(std::uint64_t fabric_id);

// A valid Recover of it.
RecoverInfo sample_recovery(std::uint64_t fabric_id);

Identity random_identity();

// One of each kind, in the order of the variant.
std::vector<Message> sample_messages();

std::vector<std::uint8_t> encoded(const Message &message);

// Reads frames from `bytes` until they end; all must be complete and valid.
std::vector<Message> decoded(std::span<const std::uint8_t> bytes);

} // namespace be::control::test
