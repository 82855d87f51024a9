// SPDX-License-Identifier: BSD-3-Clause
//
// Faults as they are written, in SOFTRDMA_FAULT and on the command line of `softrdma fault`: a kind and
// what it takes. docs/softrdma-fabric.md says what each one does.
#pragma once

#include "device_number.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softrdma {

enum class fault_kind : uint32_t {
    qp_error,
    link_down,
    link_up,
    device_removed,
    stall,
    completion_delay,
    no_receives,
    bit_flip,
    clear
};

// Trivially copyable: it travels through shared memory.
struct fault {
    fault_kind kind    = fault_kind::clear;
    uint32_t device    = any_device;
    uint32_t qpn       = 0; // 0: all that are connected
    int64_t count      = -1; // messages; negative: no limit
    uint64_t after_ns  = 0; // before it begins
    uint64_t for_ns    = 0; // until it ends; 0: it stays
    uint64_t amount_ns = 0; // delay of a completion
};

// Reads "KIND", "key=value"... False with a message in `error` that names what was wrong.
bool parse_fault(const std::vector<std::string> &words, fault &result,
                 std::string &error);

// The same for several, "KIND,key=value;KIND,...".
bool parse_faults(const std::string &text, std::vector<fault> &result,
                  std::string &error);

const char *to_string(fault_kind kind);

// One line a kind: name, keys, what it does. For the help of the command.
struct fault_info {
    fault_kind kind;
    const char *name;
    const char *keys; // those it takes, in order, separated by spaces
    const char *required; // the one it needs, "" if none
    const char *help;
};
const std::vector<fault_info> &fault_kinds();

} // namespace softrdma
