# SPDX-License-Identifier: BSD-3-Clause
#
# What the system tests share: harness.sh, server.sh and perftest.sh for scripts, and a
# library for programs of two processes over UCP.

if HAVE_UCX
check_LTLIBRARIES += test/lib/libbe_systest.la

# Programs of the system tests are built with these.
systest_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(UCX_CPPFLAGS)
systest_libs     = test/lib/libbe_systest.la $(UCX_LDFLAGS) $(UCP_LIBS) -lpthread

test_lib_libbe_systest_la_CPPFLAGS = $(systest_cppflags)
test_lib_libbe_systest_la_SOURCES  = \
	test/lib/channel.cpp \
	test/lib/channel.hpp \
	test/lib/node.cpp \
	test/lib/node.hpp \
	test/lib/pattern.cpp \
	test/lib/pattern.hpp \
	test/lib/process.cpp \
	test/lib/process.hpp \
	test/lib/procfs.cpp \
	test/lib/procfs.hpp \
	test/lib/sanitized.hpp \
	test/lib/report.cpp \
	test/lib/report.hpp
endif

EXTRA_DIST += \
	test/lib/harness.sh \
	test/lib/perftest.sh \
	test/lib/server.sh
