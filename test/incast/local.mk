# SPDX-License-Identifier: BSD-3-Clause
#
# Many processes push to one, through UCP, over the software device's model of a network.

if HAVE_UCX
check_PROGRAMS += test/incast/be_incast
TESTS          += test/incast/incast.sh
test_incast_be_incast_SOURCES  = test/incast/be_incast.c
test_incast_be_incast_CPPFLAGS = $(systest_cppflags)
test_incast_be_incast_LDADD    = $(systest_libs)
endif

EXTRA_DIST += test/incast/incast.sh
