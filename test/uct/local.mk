# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of src/ucx_be through UCT's public interface, on the built plugin. With BE_UCT_TL=posix or tcp
# (BE_UCT_DEVICE=lo) the same programs run on UCX's own transports.

if HAVE_UCX
uct_test_ldadd = $(UCX_LDFLAGS) $(UCT_LIBS) $(BOOST_TEST_LIBS) -ldl
uct_test_cppflags = $(AM_CPPFLAGS) $(UCX_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
uct_test_harness = \
	test/uct/harness.cpp \
	test/uct/harness.hpp \
	test/uct/main.cpp \
	test/uct/operations.cpp

check_PROGRAMS += \
	test/uct/fault_test \
	test/uct/guard_test \
	test/uct/transfer_test \
	test/uct/flow_test \
	test/uct/locked_test \
	test/uct/memory_test \
	test/uct/mux_test \
	test/uct/slow_test \
	test/uct/uct_peer \
	test/uct/zero_copy
TESTS += \
	test/uct/fault_test \
	test/uct/flow_test \
	test/uct/guard.sh \
	test/uct/guard_test \
	test/uct/locked_test \
	test/uct/memory_test \
	test/uct/mux_test \
	test/uct/options.sh \
	test/uct/slow_test \
	test/uct/symbols.sh \
	test/uct/transfer_test \
	test/uct/zero_copy.sh

test_uct_transfer_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_transfer_test_LDADD    = $(uct_test_ldadd)
test_uct_transfer_test_SOURCES  = \
	$(uct_test_harness) \
	test/uct/am_test.cpp \
	test/uct/descriptor_test.cpp \
	test/uct/rma_test.cpp

test_uct_flow_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_flow_test_LDADD    = $(uct_test_ldadd)
test_uct_flow_test_SOURCES  = \
	$(uct_test_harness) \
	test/uct/event_test.cpp \
	test/uct/flush_test.cpp \
	test/uct/metrics.cpp \
	test/uct/metrics.hpp \
	test/uct/pending_test.cpp \
	test/uct/vfs_test.cpp

test_uct_locked_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_locked_test_LDADD    = $(uct_test_ldadd)
test_uct_locked_test_SOURCES  = \
	test/uct/harness.cpp \
	test/uct/harness.hpp \
	test/uct/locked_test.cpp \
	test/uct/operations.cpp

test_uct_memory_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_memory_test_LDADD    = $(uct_test_ldadd)
test_uct_memory_test_SOURCES  = \
	$(uct_test_harness) \
	test/uct/invalid_test.cpp \
	test/uct/memory_test.cpp \
	test/uct/remap_test.cpp

test_uct_fault_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_fault_test_LDADD    = $(uct_test_ldadd)
test_uct_fault_test_SOURCES  = \
	$(uct_test_harness) \
	test/uct/fault_test.cpp \
	test/uct/peer.hpp \
	test/uct/peer_process.cpp

test_uct_mux_test_CPPFLAGS = $(uct_test_cppflags)
test_uct_mux_test_LDADD    = $(uct_test_ldadd)
test_uct_mux_test_SOURCES  = \
	$(uct_test_harness) \
	test/uct/metrics.cpp \
	test/uct/metrics.hpp \
	test/uct/mux_test.cpp \
	test/uct/peer.hpp \
	test/uct/peer_process.cpp

# With the processes of the system tests.
test_uct_slow_test_CPPFLAGS = $(uct_test_cppflags) -I$(top_srcdir)/test
test_uct_slow_test_LDADD    = test/lib/libbe_systest.la $(uct_test_ldadd) $(UCP_LIBS)
test_uct_slow_test_SOURCES  = \
	test/uct/harness.cpp \
	test/uct/harness.hpp \
	test/uct/metrics.cpp \
	test/uct/metrics.hpp \
	test/uct/operations.cpp \
	test/uct/slow_test.cpp

test_uct_uct_peer_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
test_uct_uct_peer_LDADD    = $(UCX_LDFLAGS) $(UCT_LIBS) -ldl
test_uct_uct_peer_SOURCES  = \
	test/uct/harness.cpp \
	test/uct/harness.hpp \
	test/uct/operations.cpp \
	test/uct/peer.cpp \
	test/uct/peer.hpp \
	test/uct/peer_process.cpp

test_uct_zero_copy_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS) $(UCX_SRC_CPPFLAGS)
test_uct_zero_copy_LDADD    = $(UCX_LDFLAGS) $(UCP_LIBS) $(UCT_LIBS)
test_uct_zero_copy_SOURCES  = test/uct/zero_copy.cpp

# The guard alone, against a UCX that the test makes up.
test_uct_guard_test_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_SRC_CPPFLAGS) $(UCX_CPPFLAGS)
test_uct_guard_test_CFLAGS   = $(AM_CFLAGS) -Wno-unused-parameter
test_uct_guard_test_LDFLAGS  = $(AM_LDFLAGS) -export-dynamic
test_uct_guard_test_LDADD    = -ldl
test_uct_guard_test_SOURCES  = \
	src/ucx_be/guard.c \
	src/ucx_be/guard.h \
	test/uct/guard_test.c

check_LTLIBRARIES += test/uct/libfake_ucp.la
test_uct_libfake_ucp_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_uct_libfake_ucp_la_SOURCES = test/uct/fake_ucp.c
endif

EXTRA_DIST += \
	test/uct/guard.sh \
	test/uct/options.sh \
	test/uct/symbols.sh \
	test/uct/zero_copy.sh
