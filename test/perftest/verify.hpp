// SPDX-License-Identifier: BSD-3-Clause
/*
 * Cases of be_ucp_verify. Both processes run the same body at the same time, each sending to the
 * other and checking what it gets; a case ends when both are through.
 */
#ifndef BE_TEST_PERFTEST_VERIFY_HPP
#define BE_TEST_PERFTEST_VERIFY_HPP

#include "lib/node.hpp"
#include "lib/pattern.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace be::test {

struct Trial {
    Node &node;
    std::size_t size; /* bytes of one message */
    std::uint64_t seed_out; /* names the content that this process sends, */
    std::uint64_t seed_in; /* ... and that it gets */
    bool sleeping; /* waits on the event descriptor */
};

struct Case {
    const char *name;
    void (*body)(Trial &);
    std::size_t least = 1; /* sizes for which the case makes sense */
    std::size_t most  = SIZE_MAX;
};

std::span<const Case> tag_cases();
std::span<const Case> am_cases();
std::span<const Case> stream_cases();
std::span<const Case> rma_cases();
std::span<const Case> atomic_cases();

/* A buffer as entries of uneven lengths, the first ones tiny. */
std::vector<ucp_dt_iov_t> split(void *data, std::size_t length);

inline void expect(bool condition, const std::string &what)
{
    if (!condition) {
        throw std::runtime_error(what);
    }
}

} // namespace be::test

#endif
