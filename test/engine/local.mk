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

check_PROGRAMS += test/engine/crowd_test
TESTS          += test/engine/crowd_test
test_engine_crowd_test_SOURCES  = test/engine/crowd_test.cpp test/engine/world.hpp
test_engine_crowd_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_crowd_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/neighbour_test
TESTS          += test/engine/neighbour_test
test_engine_neighbour_test_SOURCES  = test/engine/neighbour_test.cpp test/engine/process.hpp test/engine/waiting.hpp \
	test/engine/world.hpp
test_engine_neighbour_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_engine_neighbour_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/recovery_test
TESTS          += test/engine/recovery_test
test_engine_recovery_test_SOURCES  = test/engine/recovery_test.cpp test/engine/pair.hpp test/engine/world.hpp
test_engine_recovery_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_recovery_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/repair_test
TESTS          += test/engine/repair_test
test_engine_repair_test_SOURCES  = test/engine/repair_test.cpp test/engine/pair.hpp test/engine/world.hpp
test_engine_repair_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_repair_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/storm_test
TESTS          += test/engine/storm_test
test_engine_storm_test_SOURCES  = test/engine/pair.hpp test/engine/storm_test.cpp test/engine/waiting.hpp \
	test/engine/world.hpp
test_engine_storm_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_storm_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/seen_test
TESTS          += test/engine/seen_test
test_engine_seen_test_SOURCES  = test/engine/seen_test.cpp test/engine/pair.hpp test/engine/world.hpp
test_engine_seen_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS) $(FMT_CFLAGS)
test_engine_seen_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/tcp_parts_test
TESTS          += test/engine/tcp_parts_test
test_engine_tcp_parts_test_SOURCES  = test/engine/tcp_parts_test.cpp
test_engine_tcp_parts_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS)
test_engine_tcp_parts_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/fallback_test
TESTS          += test/engine/fallback_test
test_engine_fallback_test_SOURCES  = test/engine/fallback_test.cpp test/engine/falling.hpp test/engine/pair.hpp \
	test/engine/world.hpp
test_engine_fallback_test_CPPFLAGS = $(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS) $(FMT_CFLAGS)
test_engine_fallback_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)

check_PROGRAMS += test/engine/fallback_cases_test
TESTS          += test/engine/fallback_cases_test
test_engine_fallback_cases_test_SOURCES  = test/engine/fallback_cases_test.cpp test/engine/falling.hpp \
	test/engine/pair.hpp test/engine/waiting.hpp test/engine/world.hpp test/lib/sanitized.hpp
test_engine_fallback_cases_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) \
	$(VERBS_CPPFLAGS) $(FMT_CFLAGS)
test_engine_fallback_cases_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/fallback_hostile_test
TESTS          += test/engine/fallback_hostile_test
test_engine_fallback_hostile_test_SOURCES  = test/engine/falling.hpp test/engine/fallback_hostile_test.cpp \
	test/engine/pair.hpp test/engine/world.hpp test/lib/procfs.cpp test/lib/procfs.hpp
test_engine_fallback_hostile_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) \
	$(VERBS_CPPFLAGS) $(FMT_CFLAGS)
test_engine_fallback_hostile_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS) -lpthread

check_PROGRAMS += test/engine/lasting_test
TESTS          += test/engine/lasting_test
test_engine_lasting_test_SOURCES  = test/engine/falling.hpp test/engine/lasting_test.cpp test/engine/pair.hpp \
	test/engine/world.hpp test/lib/procfs.cpp test/lib/procfs.hpp
test_engine_lasting_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(BOOST_TEST_CPPFLAGS) $(VERBS_CPPFLAGS) \
	$(FMT_CFLAGS)
test_engine_lasting_test_LDADD    = src/engine/libbe_engine.la $(BOOST_TEST_LIBS)
