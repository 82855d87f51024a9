// SPDX-License-Identifier: BSD-3-Clause
//
// A server of another release: the sessions of its control channel are compiled with the versions and features that local.mk
// defines. upgrade_test starts it.

#define BOOST_TEST_MODULE release
#include "fault/restart_life.hpp"

BOOST_AUTO_TEST_CASE(server, *boost::unit_test::disabled())
{
    be_log_set(nullptr, BE_LOG_INFO);
    test::serve();
}
