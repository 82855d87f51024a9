# SPDX-License-Identifier: BSD-3-Clause
#
# The simulator. It links the protocol and nothing else of ours.

bin_PROGRAMS += test/sim/be_sim

test_sim_be_sim_SOURCES = \
	test/sim/baseline.cpp \
	test/sim/baseline.hpp \
	test/sim/be_sim.cpp \
	test/sim/driver.hpp \
	test/sim/event_queue.hpp \
	test/sim/fabric.cpp \
	test/sim/fabric.hpp \
	test/sim/fifo.hpp \
	test/sim/flow_step.cpp \
	test/sim/flow_step.hpp \
	test/sim/nic.cpp \
	test/sim/nic.hpp \
	test/sim/packet.hpp \
	test/sim/policy.cpp \
	test/sim/policy.hpp \
	test/sim/product.cpp \
	test/sim/product.hpp \
	test/sim/random.hpp \
	test/sim/report.cpp \
	test/sim/report.hpp \
	test/sim/result.cpp \
	test/sim/result.hpp \
	test/sim/scenario.cpp \
	test/sim/scenario.hpp \
	test/sim/scenario_incast.cpp \
	test/sim/scenario_lone.cpp \
	test/sim/scenario_mesh.cpp \
	test/sim/scenario_peers.cpp \
	test/sim/scenario_service.cpp \
	test/sim/world.cpp \
	test/sim/world.hpp
test_sim_be_sim_CPPFLAGS = $(AM_CPPFLAGS) $(CLI11_CFLAGS) $(JSON_CFLAGS)
test_sim_be_sim_LDADD    = src/core/libbe_core.la

TESTS      += test/sim/bounds_test.sh test/sim/sim_test.sh
BENCHES    += test/sim/rate.sh
EXTRA_DIST += test/sim/bounds_test.sh test/sim/rate.sh test/sim/sim_test.sh test/sim/table.sh
