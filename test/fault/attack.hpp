// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a stranger may do to a TCP port of this host. Each attack returns when the port has dealt
 * with it: every connection of it was closed by the other side, or has been given up.
 */
#ifndef BE_TEST_FAULT_ATTACK_HPP
#define BE_TEST_FAULT_ATTACK_HPP

#include "lib/procfs.hpp"

#include <span>

namespace be::test {

struct Attack {
    const char *name;
    /* Returns how many connections the other side left open, though it should have closed them. */
    unsigned (*run)(const Listening &target);
};

std::span<const Attack> attacks();

} // namespace be::test

#endif
