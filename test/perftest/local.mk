# SPDX-License-Identifier: BSD-3-Clause
#
# ucx_perftest in all its modes, and be_ucp_verify, which compares what was moved.

if HAVE_UCX
check_PROGRAMS += test/perftest/be_ucp_verify
TESTS          += test/perftest/matrix.sh test/perftest/steady.sh test/perftest/verify.sh

test_perftest_be_ucp_verify_CPPFLAGS = $(systest_cppflags)
test_perftest_be_ucp_verify_LDADD    = $(systest_libs)
test_perftest_be_ucp_verify_SOURCES  = \
	test/perftest/ucp_verify.cpp \
	test/perftest/verify.hpp \
	test/perftest/verify_am.cpp \
	test/perftest/verify_atomic.cpp \
	test/perftest/verify_rma.cpp \
	test/perftest/verify_stream.cpp \
	test/perftest/verify_tag.cpp
endif

EXTRA_DIST += \
	test/perftest/matrix.sh \
	test/perftest/steady.sh \
	test/perftest/verify.sh
