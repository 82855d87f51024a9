# SPDX-License-Identifier: BSD-3-Clause
#
# Peers that die or stop, connections that come and go, strangers at the control port, and everything at random.

# Over the engine itself, without UCX.
check_PROGRAMS += test/fault/chaos
TESTS          += test/fault/chaos.sh test/fault/fallback.sh
test_fault_chaos_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(VERBS_CPPFLAGS)
test_fault_chaos_LDADD    = src/engine/libbe_engine.la -lpthread
test_fault_chaos_SOURCES  = \
	test/engine/traffic.cpp \
	test/engine/traffic.hpp \
	test/engine/traffic_arrivals.cpp \
	test/engine/traffic_plan.hpp \
	test/fault/chaos.cpp \
	test/fault/chaos_fabric.cpp \
	test/fault/chaos_fabric.hpp \
	test/fault/chaos_faults.cpp \
	test/fault/chaos_faults.hpp \
	test/fault/chaos_member.cpp \
	test/fault/chaos_member.hpp \
	test/lib/channel.cpp \
	test/lib/channel.hpp \
	test/lib/pattern.cpp \
	test/lib/pattern.hpp \
	test/lib/process.cpp \
	test/lib/process.hpp \
	test/lib/procfs.cpp \
	test/lib/procfs.hpp \
	test/lib/report.cpp \
	test/lib/report.hpp

# Two processes over the engine, one of which dies or is of another release. Without UCX.
check_LTLIBRARIES += test/fault/liblife.la
test_fault_liblife_la_CPPFLAGS = $(life_cppflags)
test_fault_liblife_la_SOURCES  = \
	test/engine/world.hpp \
	test/fault/record.hpp \
	test/fault/restart_life.cpp \
	test/fault/restart_life.hpp \
	test/lib/channel.cpp \
	test/lib/process.cpp \
	test/lib/procfs.cpp \
	test/lib/report.cpp
life_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
life_libs     = test/fault/liblife.la src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/fault/restart_test
TESTS          += test/fault/restart_test
test_fault_restart_test_CPPFLAGS = $(life_cppflags)
test_fault_restart_test_LDADD    = $(life_libs)
test_fault_restart_test_SOURCES  = test/fault/restart_test.cpp

# Source files of the libraries that a program compiles for itself come before the libraries' own.

check_PROGRAMS += test/fault/points_test
TESTS          += test/fault/points_test
test_fault_points_test_CPPFLAGS = $(life_cppflags) -DBE_FAULT_POINTS
test_fault_points_test_CXXFLAGS = $(AM_CXXFLAGS) $(FMT_CFLAGS) $(SODIUM_CFLAGS)
test_fault_points_test_LDADD    = $(life_libs)
test_fault_points_test_SOURCES  = \
	src/control/session.cpp \
	src/engine/channel.cpp \
	src/engine/connection.cpp \
	src/engine/failure.cpp \
	src/engine/fallback.cpp \
	src/engine/recovery.cpp \
	src/engine/tcp_arrivals.cpp \
	src/engine/tcp_path.cpp \
	src/engine/wiring.cpp \
	test/fault/points.cpp \
	test/fault/points.hpp \
	test/fault/points_test.cpp

check_PROGRAMS += test/fault/next_minor test/fault/next_major test/fault/upgrade_test
TESTS          += test/fault/upgrade_test
release_sources = \
	src/control/session.cpp \
	src/control/session_handshake.cpp \
	test/fault/release.cpp
test_fault_next_minor_CPPFLAGS   = $(life_cppflags) \
	-DBE_PROTOCOL_MAJOR=1 -DBE_PROTOCOL_MINOR=2 '-DBE_PROTOCOL_FEATURES=(1ull<<40)'
test_fault_next_minor_LDADD      = $(life_libs)
test_fault_next_minor_SOURCES    = $(release_sources)
test_fault_next_major_CPPFLAGS   = $(life_cppflags) \
	-DBE_PROTOCOL_MAJOR=2 -DBE_PROTOCOL_MINOR=0 -DBE_PROTOCOL_FEATURES=0
test_fault_next_major_LDADD      = $(life_libs)
test_fault_next_major_SOURCES    = $(release_sources)
test_fault_upgrade_test_CPPFLAGS = $(life_cppflags)
test_fault_upgrade_test_LDADD    = $(life_libs)
test_fault_upgrade_test_SOURCES  = \
	test/control/raw_socket.cpp \
	test/control/raw_socket.hpp \
	test/control/samples.cpp \
	test/control/samples.hpp \
	test/fault/upgrade_test.cpp

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
	test/fault/chaos.sh \
	test/fault/fallback.sh \
	test/fault/cycles.sh \
	test/fault/hostile.sh \
	test/fault/peer_death.sh
