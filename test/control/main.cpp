// SPDX-License-Identifier: BSD-3-Clause

#define BOOST_TEST_MODULE control
#include <boost/test/unit_test.hpp>

// A control thread that ends by itself may still be ending when the next test forks.
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options()
{
    return "die_after_fork=0";
}
