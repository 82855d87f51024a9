// SPDX-License-Identifier: BSD-3-Clause
#define BOOST_TEST_MODULE buffers
#include <boost/test/unit_test.hpp>
