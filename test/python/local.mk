# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the Python module.
if HAVE_UCX
if HAVE_PYTHON
TESTS          += test/python/python.sh
check_PROGRAMS += test/python/pull_bench
BENCHES        += test/python/bench.sh
test_python_pull_bench_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
test_python_pull_bench_LDADD    = $(ADAPTER_LIBS)
test_python_pull_bench_SOURCES  = test/python/pull_bench.cpp
endif
endif
EXTRA_DIST += examples/parameters.py test/python/bench.py test/python/bench.sh \
	test/python/module_test.py test/python/python.sh
