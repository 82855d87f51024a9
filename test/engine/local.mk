# test/engine: fabrics on the software device through the C facade, without UCX.

check_PROGRAMS += test/engine/fabric_test
TESTS          += test/engine/fabric_test
test_engine_fabric_test_SOURCES  = test/engine/fabric_test.cpp test/engine/world.hpp
test_engine_fabric_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_fabric_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/parts_test
TESTS          += test/engine/parts_test
test_engine_parts_test_SOURCES  = test/engine/parts_test.cpp
test_engine_parts_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_parts_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/hostile_test
TESTS          += test/engine/hostile_test
test_engine_hostile_test_SOURCES  = test/engine/hostile_test.cpp test/engine/world.hpp \
	test/fault/attack.cpp test/fault/attack.hpp test/lib/procfs.hpp
test_engine_hostile_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_hostile_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/sleep_test
TESTS          += test/engine/sleep_test
test_engine_sleep_test_SOURCES  = test/engine/sleep_test.cpp test/engine/waiting.hpp test/engine/world.hpp
test_engine_sleep_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_sleep_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/mux_test
TESTS          += test/engine/mux_test
test_engine_mux_test_SOURCES  = test/engine/mux_test.cpp test/engine/process.hpp test/engine/world.hpp
test_engine_mux_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_mux_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/workers_test
TESTS          += test/engine/workers_test
test_engine_workers_test_SOURCES  = test/engine/workers_test.cpp test/engine/waiting.hpp test/engine/world.hpp
test_engine_workers_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_workers_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/bytes_test
TESTS          += test/engine/bytes_test
test_engine_bytes_test_SOURCES  = test/engine/bytes_test.cpp test/engine/waiting.hpp test/engine/world.hpp
test_engine_bytes_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_bytes_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/neighbour_test
TESTS          += test/engine/neighbour_test
test_engine_neighbour_test_SOURCES  = test/engine/neighbour_test.cpp test/engine/process.hpp test/engine/waiting.hpp \
	test/engine/world.hpp
test_engine_neighbour_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_neighbour_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread
