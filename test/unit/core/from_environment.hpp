// SPDX-License-Identifier: BSD-3-Clause

#pragma once

#include <cstdint>
#include <cstdlib>

namespace be::test {

/* A number that the environment may change. */
inline uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = std::getenv(name);

    return (text == nullptr) ? otherwise : std::strtoull(text, nullptr, 0);
}

} // namespace be::test
