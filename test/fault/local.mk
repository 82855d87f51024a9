# SPDX-License-Identifier: BSD-3-Clause
#
# Peers that die or stop, connections that come and go, strangers at the control port.

if HAVE_UCX
check_PROGRAMS += \
	test/fault/be_hostile \
	test/fault/be_peer_death \
	test/fault/be_ucp_cycles
TESTS += \
	test/fault/cycles.sh \
	test/fault/hostile.sh \
	test/fault/peer_death.sh

test_fault_be_hostile_CPPFLAGS = $(systest_cppflags)
test_fault_be_hostile_LDADD    = $(systest_libs)
test_fault_be_hostile_SOURCES  = \
	test/fault/attack.cpp \
	test/fault/attack.hpp \
	test/fault/hostile.cpp

test_fault_be_ucp_cycles_CPPFLAGS = $(systest_cppflags)
test_fault_be_ucp_cycles_LDADD    = $(systest_libs)
test_fault_be_ucp_cycles_SOURCES  = test/fault/cycles.cpp

test_fault_be_peer_death_CPPFLAGS = $(systest_cppflags)
test_fault_be_peer_death_LDADD    = $(systest_libs)
test_fault_be_peer_death_SOURCES  = \
	test/fault/load.cpp \
	test/fault/load.hpp \
	test/fault/peer_death.cpp
endif

EXTRA_DIST += \
	test/fault/cycles.sh \
	test/fault/hostile.sh \
	test/fault/peer_death.sh
