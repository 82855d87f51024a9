// SPDX-License-Identifier: BSD-3-Clause
//
// Limits of the system, met by a child process: less memory than was wished for, then a clear reason,
// never a crash.
#include "fake_registrar.hpp"

#include "lib/sanitized.hpp"

#include "memory/heap.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <system_error>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

// Pins, as a device does.
Registrar pinning()
{
    return {[](void *address, size_t length) {
                if (mlock(address, length) != 0) {
                    throw std::system_error(errno, std::generic_category(),
                                            "pinning " + std::to_string(length) +
                                                    " bytes");
                }
                Registration registration;
                registration.handle = address;
                return registration;
            },
            [](const Registration &) {}};
}

// In a process of its own, as an ordinary user: the limit is not for root.
int in_child(int resource, size_t limit, const std::function<bool()> &test)
{
    const pid_t child = fork();
    if (child == 0) {
        const rlimit value{limit, limit};
        const bool ready = ((geteuid() != 0) || (setresuid(65534, 65534, 65534) == 0)) &&
                           (setrlimit(resource, &value) == 0);
        _exit(!ready ? 2 : (test() ? 0 : 1));
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Bytes that this process has mapped.
size_t address_space()
{
    std::ifstream file("/proc/self/statm");
    size_t pages = 0;
    file >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Allocates until nothing is left. Returns the bytes, and the reason that ended it.
size_t exhaust(Heap &heap, std::string &why)
{
    size_t bytes = 0;
    while (heap.allocate(100000, 64, 0, &why) != nullptr) {
        bytes += 100000;
    }
    return bytes;
}

} // namespace

// Sanitizers' own memory is under the limits too, and they ignore mlock().
const bool limits_hold = !be::test::sanitized;

boost::test_tools::assertion_result without_sanitizer(boost::unit_test::test_unit_id)
{
    return limits_hold;
}

BOOST_AUTO_TEST_SUITE(limits, *boost::unit_test::precondition(without_sanitizer))

BOOST_AUTO_TEST_CASE(eight_mebibytes_may_be_pinned)
{
    BOOST_TEST(in_child(RLIMIT_MEMLOCK, 8 * mebi, [] {
                   HeapConfig config;
                   config.arena.region.huge_pages = false;
                   Heap heap(config, pinning());
                   std::string why;
                   const size_t bytes = exhaust(heap, why);
                   const bool right   = (bytes > 7 * mebi) && (bytes <= 8 * mebi) &&
                                      (why.find("pinning") != std::string::npos) &&
                                      (why.find(strerror(ENOMEM)) != std::string::npos);
                   if (!right) {
                       fprintf(stderr, "%zu bytes, then: %s\n", bytes, why.c_str());
                   }
                   return right;
               }) == 0);
}

BOOST_AUTO_TEST_CASE(address_space_is_short)
{
    BOOST_TEST(in_child(RLIMIT_AS, address_space() + 128 * mebi, [] {
                   FakeRegistrar registrar;
                   Heap heap({}, registrar.callbacks());
                   std::string why;
                   const size_t bytes = exhaust(heap, why);
                   const bool right   = (bytes > 16 * mebi) && (bytes <= 128 * mebi) &&
                                      (why.find("mapping") != std::string::npos);
                   if (!right) {
                       fprintf(stderr, "%zu bytes, then: %s\n", bytes, why.c_str());
                   }
                   return right;
               }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
