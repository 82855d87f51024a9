# test/bench: what `make bench` runs. Nothing here asserts a time.

EXTRA_PROGRAMS += test/bench/bare test/bench/footprint
BENCHES        += test/bench/ratios.sh test/bench/softrdma.sh test/bench/footprint
EXTRA_DIST     += test/bench/ratios.sh test/bench/softrdma.sh
CLEANFILES     += test/bench/bare test/bench/footprint
test_bench_bare_SOURCES = test/bench/bare.c
test_bench_footprint_SOURCES = test/bench/footprint.c
# Linked as C++, which the engine is.
nodist_EXTRA_test_bench_footprint_SOURCES = test/bench/link_as_cxx.cpp
test_bench_footprint_LDADD = src/engine/libbe_engine.la
