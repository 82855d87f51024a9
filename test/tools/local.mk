# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the command line tools.
check_PROGRAMS += test/tools/run_test
TESTS += test/tools/run_test
test_tools_run_test_SOURCES = test/tools/run_test.cpp
test_tools_run_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_tools_run_test_LDADD = src/tools/libbe_run.la $(FMT_LIBS) $(BOOST_TEST_LIBS) -ldl

check_PROGRAMS += test/tools/info_test
TESTS += test/tools/info_test
test_tools_info_test_SOURCES = test/tools/info_test.cpp
test_tools_info_test_CPPFLAGS = \
	$(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS) $(JSON_CFLAGS)
test_tools_info_test_LDADD = src/tools/libbe_info.la $(FMT_LIBS) $(BOOST_TEST_LIBS) -ldl

TESTS += test/tools/counts.sh test/tools/limits.sh
EXTRA_DIST += test/tools/counts.sh test/tools/limits.sh

if HAVE_UCX
check_PROGRAMS += test/tools/perf_test
TESTS          += test/tools/perf_test test/tools/perf.sh
test_tools_perf_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_tools_perf_test_LDADD    = $(BOOST_TEST_LIBS)
test_tools_perf_test_SOURCES  = \
	src/tools/perf/content.hpp \
	src/tools/perf/histogram.hpp \
	src/tools/perf/sizes.cpp \
	src/tools/perf/sizes.hpp \
	test/tools/perf_test.cpp
endif
EXTRA_DIST += test/tools/perf.sh
