# test/bench: what `make bench` runs. Nothing here asserts a time.

# Sanitizers have memory of their own.
if !HAVE_SANITIZER
TESTS += test/bench/idle_peers.sh
endif

EXTRA_PROGRAMS += test/bench/bare
check_PROGRAMS += test/bench/footprint
BENCHES        += test/bench/ratios.sh test/bench/fallback.sh test/bench/softrdma.sh test/bench/footprint
EXTRA_DIST     += test/bench/ratios.sh test/bench/fallback.sh test/bench/softrdma.sh
CLEANFILES     += test/bench/bare
test_bench_bare_SOURCES = test/bench/bare.c
test_bench_footprint_SOURCES = test/bench/footprint.c
# Linked as C++, which the engine is.
nodist_EXTRA_test_bench_footprint_SOURCES = test/bench/link_as_cxx.cpp
test_bench_footprint_LDADD = src/engine/libbe_engine.la

EXTRA_PROGRAMS += test/bench/recovery_bench
BENCHES        += test/bench/recovery_bench
CLEANFILES     += test/bench/recovery_bench
test_bench_recovery_bench_SOURCES  = test/bench/recovery_bench.cpp test/engine/world.hpp
test_bench_recovery_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_bench_recovery_bench_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

if HAVE_BENCHMARK
EXTRA_PROGRAMS += test/bench/memory_bench
BENCHES        += test/bench/memory.sh
CLEANFILES     += test/bench/memory_bench
test_bench_memory_bench_SOURCES  = \
	test/bench/bench_device.hpp \
	test/bench/memory_bench.cpp \
	test/bench/put_bench.cpp
test_bench_memory_bench_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
test_bench_memory_bench_LDADD    = src/engine/libbe_engine.la $(BENCHMARK_LIBS)
test/bench/memory.sh: test/bench/memory_bench
endif
EXTRA_DIST += test/bench/idle_peers.sh test/bench/memory.sh

if HAVE_UCX
EXTRA_PROGRAMS += test/bench/be_mux
BENCHES        += test/bench/mux.sh
CLEANFILES     += test/bench/be_mux
test_bench_be_mux_CPPFLAGS = $(systest_cppflags) $(FMT_CFLAGS)
test_bench_be_mux_LDADD    = $(systest_libs) $(FMT_LIBS)
test_bench_be_mux_SOURCES  = \
	test/bench/be_mux.cpp \
	test/bench/mux_board.cpp \
	test/bench/mux_board.hpp \
	test/bench/mux_peer.cpp \
	test/bench/mux_worker.cpp \
	test/bench/mux_worker.hpp
test/bench/mux.sh: test/bench/be_mux
endif
EXTRA_DIST += test/bench/mux.sh
