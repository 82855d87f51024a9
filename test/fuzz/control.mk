# Fuzzer of the control channel; included by test/fuzz/local.mk.
#
# `make check` runs the corpus and generated inputs with the plain driver. With a compiler
# that has libFuzzer, `make test/fuzz/control_libfuzzer` builds the real thing.

check_PROGRAMS += test/fuzz/control_fuzz
TESTS          += test/fuzz/control_fuzz
test_fuzz_control_fuzz_CPPFLAGS = \
	$(AM_CPPFLAGS) -DBE_FUZZ_CORPUS='"test/fuzz/corpus/control"'
test_fuzz_control_fuzz_SOURCES  = test/fuzz/control_fuzz.cpp test/fuzz/driver.cpp
test_fuzz_control_fuzz_LDADD    = src/control/libbe_control.la

if HAVE_LIBFUZZER
EXTRA_PROGRAMS += test/fuzz/control_libfuzzer
test_fuzz_control_libfuzzer_CPPFLAGS = $(AM_CPPFLAGS)
test_fuzz_control_libfuzzer_CXXFLAGS = \
	$(AM_CXXFLAGS) $(FLATBUFFERS_CFLAGS) $(SODIUM_CFLAGS) -fsanitize=fuzzer
test_fuzz_control_libfuzzer_LDADD    = $(SODIUM_LIBS)
test_fuzz_control_libfuzzer_SOURCES  = \
	test/fuzz/control_fuzz.cpp \
	src/control/auth.cpp \
	src/control/codec.cpp \
	src/control/frame.cpp \
	src/control/reason.cpp \
	src/control/session.cpp \
	src/control/session_handshake.cpp \
	src/control/session_probe.cpp \
	src/control/session_traffic.cpp \
	src/control/types.cpp
endif

EXTRA_DIST += test/fuzz/corpus/control
