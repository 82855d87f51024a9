// SPDX-License-Identifier: BSD-3-Clause
//
// One process of the chaos test: a fabric, verified traffic with all others, and orders from the parent.
//
// Orders, and what is answered (one message each over the channel; numbers are in decimal, ends count from 0)
//   go                    operations in random order, without an end
//   break END QUEUE       the queue pair (0 messages, 1 bulk) to that end goes to the error state, without a word
//   cut END               the side channel to that end is closed without a goodbye
//   stop                  nothing new begins; answers "sent MESSAGES PUTS ..." with two numbers for each end
//   expect MESSAGES PUTS  two numbers for each end: what that one has sent; "quiet" once all has arrived and is complete
//   check                 "fine NAME VALUE..." when nothing has leaked, see Counter
//   state                 the state is printed
//   end                   goodbye
//
// What is wrong throws std::runtime_error: then the process ends.

#pragma once

#include "lib/channel.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace be::test {

inline constexpr unsigned chaos_ends = 4;

// Seen by all: which queue pairs each process has for each other one; 0: none now.
struct ChaosBoard {
    std::atomic<bool> fallback{false}; // to TCP; constant
    std::atomic<unsigned> without_device{chaos_ends}; // whose device was removed; none
    std::atomic<std::uint32_t> queue_pairs[chaos_ends][chaos_ends][2];
};

// Runs until it is told to end. The exit status.
int run_chaos_member(unsigned self, std::uint64_t seed, const Channel &parent,
                     ChaosBoard &board);

} // namespace be::test
