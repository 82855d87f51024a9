# SPDX-License-Identifier: BSD-3-Clause
#
# Metrics over HTTP; test/tools/metrics.sh scrapes a process.
check_PROGRAMS += test/metrics/where_test
TESTS          += test/metrics/where_test
test_metrics_where_test_SOURCES  = test/metrics/where_test.cpp
test_metrics_where_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_metrics_where_test_LDADD    = src/metrics/libbe_where.la $(BOOST_TEST_LIBS)
