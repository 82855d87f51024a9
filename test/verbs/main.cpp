// SPDX-License-Identifier: BSD-3-Clause
//
// The semantics of the software device, between processes. The program starts itself again, as
// "PROGRAM --servant SOCKET", for the other side of a test.
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <boost/test/unit_test.hpp>

#include "servant.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    // Other programs of the same user that use the device must not matter.
    setenv("SOFTRDMA_DOMAIN", "test", 0);
    setenv("SOFTRDMA_ONLY", "yes", 1);
    if ((argc == 3) && (strcmp(argv[1], "--servant") == 0)) {
        return softtest::serve(atoi(argv[2]));
    }
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
