// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of the file in which a process shows one interface's metrics to others: mapped by both, so that
// nothing is copied and nobody waits. Whoever wants to know adds 1 to `asked`; the process answers when it makes
// progress, or before it goes to sleep, and after the last time of all.
//
// Both run the same release; `magic` says which layout it is.

#pragma once

#include "core/recovery_durations.hpp"
#include "core/shared_text.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace be::core {

// What became of the path to one peer.
struct StatsPeer {
    enum Value : std::size_t {
        epoch,
        losses, // of its path
        recoveries,
        last_time, // of a recovery, ns
        queue_pair, // the one that failed last, ours; 0: none in particular
        status, // ibv_wc_status of that; 0: no completion told
        vendor_error,
        value_count
    };

    std::array<std::atomic<std::uint64_t>, value_count> values;
    std::array<std::atomic<std::uint64_t>, recovery_bounds_us.size()> below; // recoveries
    SharedText<96> name;
    SharedText<16> state;
    SharedText<8> path; // rdma or tcp
    SharedText<8> side; // whose fault the last loss was: local or remote; "": none yet
    SharedText<256> cause; // of the last loss
};

struct StatsPage {
    static constexpr std::uint64_t current_magic = 0x0132544154534542; // "BESTAT2\1"
    // However many peers there are: those whose path is lost now, then those that lost it last, then others.
    static constexpr std::size_t max_peers   = 32;
    static constexpr std::size_t max_metrics = 256;
    static constexpr std::size_t max_names   = 24576;
    static constexpr std::size_t max_device  = 64;

    std::uint64_t magic;
    std::uint64_t process; // its id, as it sees it
    std::atomic<std::uint64_t> asked;
    std::atomic<std::uint64_t> answered; // the `asked` that the values answer
    std::atomic<std::uint64_t> sequence; // odd while values are written
    std::uint64_t count; // of values; constant like the names
    std::uint64_t names_size;
    std::array<char, max_device> device; // ends in 0
    std::array<std::atomic<std::uint64_t>, max_metrics> values;
    std::atomic<std::uint64_t> peer_count; // of those that follow
    std::array<StatsPeer, max_peers> peers;
    std::array<char, max_names>
            names; // of each: name, tab, unit, tab, kind, tab, sentence, newline
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The folder of these files, unless one is named: of the user's session, else of the user.
inline std::string stats_folder(const char *runtime_folder, std::uint64_t user)
{
    return (runtime_folder != nullptr && runtime_folder[0] == '/') ?
                   std::string(runtime_folder) + "/byteexpress" :
                   "/tmp/byteexpress-" + std::to_string(user);
}

} // namespace be::core
