// SPDX-License-Identifier: BSD-3-Clause

#define BOOST_TEST_MODULE uct
#include <boost/test/unit_test.hpp>
