// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that show whether they arrived whole, and what the coordinator and the workers tell each other.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>

namespace crash {

// At the start of every message.
struct header {
    uint32_t sequence; // counts the messages of a connection
    uint32_t length; // with the header
    uint64_t check; // of the rest
};

inline uint64_t check_of(const char *data, uint32_t length)
{
    uint64_t value = 0x9e3779b97f4a7c15ull + length;
    uint64_t word;
    uint32_t i = 0;
    for (; i + sizeof(word) <= length; i += sizeof(word)) {
        memcpy(&word, data + i, sizeof(word));
        value = (value ^ word) * 0x100000001b3ull;
    }
    for (; i < length; ++i) {
        value = (value ^ static_cast<unsigned char>(data[i])) * 0x100000001b3ull;
    }
    return value;
}

// Where a worker can be reached, but for the queue pairs' numbers.
struct place {
    uint16_t lid;
    uint32_t rkey;
    uint64_t memory;
};

enum class verb : uint32_t {
    connect, // to `peer` at `where`; the numbers of its queue pairs for this worker follow
    go, // with what is connected to `peer`, or to everybody
    bury, // `peer`: its queue pairs must fail
    report
};

inline constexpr uint32_t everybody = UINT32_MAX;

struct command {
    verb what;
    uint32_t peer;
    place where;
};

struct answer {
    uint32_t faults; // things that must not happen; said on standard error
    uint32_t descriptors; // open files
    uint32_t mappings; // of device memory
    uint32_t least_received; // messages of the connection that brought fewest
    uint64_t received;
    uint64_t completed;
};

} // namespace crash
