# Unit tests of src/adapter/memory; included by test/unit/local.mk.

check_PROGRAMS += test/unit/buffers/buffers_test
TESTS          += test/unit/buffers/buffers_test
test_unit_buffers_buffers_test_CPPFLAGS = \
	$(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(FLATBUFFERS_CFLAGS)
test_unit_buffers_buffers_test_LDADD    = \
	src/adapter/memory/libbe_adapter_memory.la $(BOOST_TEST_LIBS)
test_unit_buffers_buffers_test_SOURCES  = \
	test/unit/buffers/allocator_test.cpp \
	test/unit/buffers/buffer_test.cpp \
	test/unit/buffers/c_test.cpp \
	test/unit/buffers/chain_random_test.cpp \
	test/unit/buffers/chain_test.cpp \
	test/unit/buffers/main.cpp \
	test/unit/buffers/serialise_test.cpp
