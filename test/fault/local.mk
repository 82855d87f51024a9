# SPDX-License-Identifier: BSD-3-Clause
#
# Peers that die or stop, connections that come and go, strangers at the control port.

if HAVE_UCX
check_PROGRAMS += test/fault/be_peer_death
TESTS          += test/fault/peer_death.sh

test_fault_be_peer_death_CPPFLAGS = $(systest_cppflags)
test_fault_be_peer_death_LDADD    = $(systest_libs)
test_fault_be_peer_death_SOURCES  = \
	test/fault/load.cpp \
	test/fault/load.hpp \
	test/fault/peer_death.cpp
endif

EXTRA_DIST += test/fault/peer_death.sh
