// SPDX-License-Identifier: BSD-3-Clause

#define BOOST_TEST_MODULE control
#include <boost/test/unit_test.hpp>

// Tests fork while a control thread runs, which ThreadSanitizer allows on request.
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options()
{
    return "die_after_fork=0";
}
