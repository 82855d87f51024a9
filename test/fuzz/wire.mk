# Fuzzer of the data path's wire format; included by test/fuzz/local.mk.
#
# `make check` runs the corpus and generated inputs with the plain driver. With a compiler
# that has libFuzzer, `make test/fuzz/wire_libfuzzer` builds the real thing.

check_PROGRAMS += test/fuzz/wire_fuzz
TESTS          += test/fuzz/wire_fuzz
test_fuzz_wire_fuzz_CPPFLAGS = \
	-I$(top_srcdir)/src -DBE_FUZZ_CORPUS='"test/fuzz/corpus/wire"'
test_fuzz_wire_fuzz_SOURCES  = test/fuzz/driver.cpp test/fuzz/wire_fuzz.cpp
test_fuzz_wire_fuzz_LDADD    = src/core/libbe_core.la

if HAVE_LIBFUZZER
EXTRA_PROGRAMS += test/fuzz/wire_libfuzzer
test_fuzz_wire_libfuzzer_CPPFLAGS = -I$(top_srcdir)/src
test_fuzz_wire_libfuzzer_CXXFLAGS = $(AM_CXXFLAGS) -fsanitize=fuzzer
test_fuzz_wire_libfuzzer_SOURCES  = \
	test/fuzz/wire_fuzz.cpp \
	src/core/flow.cpp \
	src/core/flow_bulk.cpp \
	src/core/flow_stats.cpp \
	src/core/receive_pool.cpp \
	src/core/receive_pool_serve.cpp \
	src/core/wire.cpp
endif

EXTRA_DIST += test/fuzz/corpus/wire
