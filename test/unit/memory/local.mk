# Unit tests of src/memory; included by test/unit/local.mk.

check_PROGRAMS += test/unit/memory/memory_test
TESTS          += test/unit/memory/memory_test
test_unit_memory_memory_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) $(HWLOC_CFLAGS)
test_unit_memory_memory_test_LDADD    = src/memory/libbe_memory.la $(BOOST_TEST_LIBS) $(HWLOC_LIBS)
test_unit_memory_memory_test_SOURCES  = \
	test/unit/memory/arena_random_test.cpp \
	test/unit/memory/arena_test.cpp \
	test/unit/memory/fake_registrar.hpp \
	test/unit/memory/fragmentation_test.cpp \
	test/unit/memory/growth_test.cpp \
	test/unit/memory/heap_debug_test.cpp \
	test/unit/memory/heap_random_test.cpp \
	test/unit/memory/heap_test.cpp \
	test/unit/memory/limits_test.cpp \
	test/unit/memory/main.cpp \
	test/unit/memory/mapping.hpp \
	test/unit/memory/memory_group_test.cpp \
	test/unit/memory/page_map_test.cpp \
	test/unit/memory/pages_test.cpp \
	test/unit/memory/placement_test.cpp \
	test/unit/memory/pool_test.cpp \
	test/unit/memory/region_index_test.cpp \
	test/unit/memory/region_test.cpp \
	test/unit/memory/size_class_test.cpp \
	test/unit/memory/sizes.hpp
