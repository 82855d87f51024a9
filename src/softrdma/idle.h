// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that polls an empty queue gives the processor away now and then: there may be more processes than
// processors. To give it away takes as long as a few messages, and who is late makes the other side wait, which
// then gives its processor away, too: so nobody does soon for whom there is nobody else to run.
#pragma once

#include <cstdint>

namespace softrdma {

// Polls found something. Any thread.
void polled_something();

// A poll found nothing. Any thread. After `patience` of them in a row the processor is given away, 0: never; after
// up to longest_patience times as many while nobody else wanted it before.
void polled_nothing(uint32_t patience);

inline constexpr uint32_t longest_patience = 16;

} // namespace softrdma
