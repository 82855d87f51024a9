// SPDX-License-Identifier: BSD-3-Clause
//
// What a Recovery (recovery.hpp) is configured with, what it asks of its driver, and what
// it counts. docs/recovery.md has the protocol.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace be::core {

enum class RecoveryState : uint8_t {
    connecting, /* never been ready */
    ready, /* data flows over RDMA */
    broken, /* draining the old queue pairs, or drained and not begun */
    recovering, /* drained, own Recover sent; waits for theirs, or connects to theirs */
    rewired, /* fresh queue pairs connected, Recovered sent; waits for theirs */
    tcp, /* data flows over the channel */
    dead /* for good; reason() says why */
};

/* Where data is to flow after a recovery. */
enum class RecoveryPath : uint8_t {
    rdma,
    tcp
};

enum class RecoveryReason : uint8_t {
    none, /* not dead */
    refused, /* nobody listens, another incarnation answers, or it does not know us */
    departed, /* said goodbye */
    timed_out, /* did not come back in time */
    local, /* we ended it */
    protocol /* said what no peer may say */
};

/* Never null. */
const char *to_string(RecoveryState state);
const char *to_string(RecoveryPath path);
const char *to_string(RecoveryReason reason);

/* What the driver does, in this order. */
enum class RecoveryStep : uint8_t {
    drain        = 1 << 0, /* stop sending, queue pairs to error; then drained() */
    send_recover = 1 << 1, /* the epoch, path(), what has arrived, fresh queue pairs */
    rewire       = 1 << 2, /* connect the fresh queue pairs; then rewired() or failed() */
    send_recovered = 1 << 3, /* the epoch */
    use_tcp        = 1 << 4, /* from now on data travels over the channel */
    resume         = 1 << 5, /* replay what did not arrive, then go on */
    redial         = 1 << 6, /* the channel is lost: get it again; then channel_back() */
    die            = 1 << 7 /* fail everything, tell reason(); comes once */
};

/* A set of steps. */
class RecoverySteps {
public:
    constexpr RecoverySteps() = default;

    constexpr RecoverySteps(RecoveryStep step) : m_bits(static_cast<uint8_t>(step))
    {
    }

    constexpr bool has(RecoveryStep step) const
    {
        return (m_bits & static_cast<uint8_t>(step)) != 0;
    }

    constexpr bool empty() const
    {
        return m_bits == 0;
    }

    constexpr RecoverySteps &operator|=(RecoverySteps other)
    {
        m_bits |= other.m_bits;
        return *this;
    }

    constexpr bool operator==(const RecoverySteps &) const = default;

private:
    uint8_t m_bits = 0;
};

constexpr RecoverySteps operator|(RecoverySteps a, RecoverySteps b)
{
    return a |= b;
}

constexpr RecoverySteps operator|(RecoveryStep a, RecoveryStep b)
{
    return RecoverySteps(a) | RecoverySteps(b);
}

/* When to try again. */
struct BackoffConfig {
    uint64_t first_ns = 1'000'000; /* wait of the second failure in a row, >= 1 */
    uint64_t max_ns   = 1'000'000'000; /* no wait is longer, >= first_ns */
    uint64_t stable_ns =
            100'000'000; /* a failure after that long of good working is a first one */
};

struct RecoveryConfig {
    BackoffConfig backoff;
    uint64_t device_stable_ns =
            100'000'000; /* on TCP: a device is used when it has been there that long */
    uint64_t timeout_ns = 30'000'000'000; /* without the peer that long: dead, >= 1 */
    bool tcp = true; /* go on over the channel without a device; both ends must agree */
};

struct RecoveryStats {
    /* Bucket 0 is below 1 us, bucket i holds [2^(i-1), 2^i) us, the last all above. */
    static constexpr std::size_t buckets = 32;

    uint64_t completed = 0; /* recoveries */
    uint64_t last_ns   = 0; /* duration of the last one: from leaving ready to ready */
    std::array<uint64_t, buckets> durations{}; /* how many took how long */
};

} // namespace be::core
