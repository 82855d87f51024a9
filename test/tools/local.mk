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

check_PROGRAMS += test/tools/stats_test
TESTS += test/tools/stats_test
test_tools_stats_test_SOURCES = test/tools/stats_test.cpp
test_tools_stats_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(JSON_CFLAGS)
test_tools_stats_test_LDADD = src/tools/libbe_run.la $(FMT_LIBS) $(BOOST_TEST_LIBS)

check_PROGRAMS += test/tools/doctor_test
TESTS += test/tools/doctor_test
test_tools_doctor_test_SOURCES = test/tools/doctor_test.cpp
test_tools_doctor_test_CPPFLAGS = \
	$(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS) $(JSON_CFLAGS)
test_tools_doctor_test_LDADD = src/tools/libbe_info.la $(FMT_LIBS) $(BOOST_TEST_LIBS) -ldl

TESTS += test/tools/arguments.sh test/tools/counts.sh test/tools/limits.sh
EXTRA_DIST += test/tools/arguments.sh test/tools/counts.sh test/tools/limits.sh

if HAVE_UCX
check_PROGRAMS += test/tools/perf_test
TESTS          += test/tools/perf_test test/tools/perf.sh
check_PROGRAMS += test/tools/stats_program
TESTS          += test/tools/stats.sh test/tools/metrics.sh
test_tools_stats_program_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
test_tools_stats_program_LDADD    = $(ADAPTER_LIBS)
test_tools_stats_program_SOURCES  = test/tools/stats_program.cpp
test_tools_perf_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_tools_perf_test_LDADD    = $(BOOST_TEST_LIBS)
test_tools_perf_test_SOURCES  = \
	src/tools/perf/content.hpp \
	src/tools/perf/histogram.hpp \
	src/tools/perf/sizes.cpp \
	src/tools/perf/sizes.hpp \
	test/tools/perf_test.cpp
endif
EXTRA_DIST += test/tools/perf.sh test/tools/stats.sh test/tools/metrics.sh
