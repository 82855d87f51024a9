# Unit tests of src/verbs; included by test/unit/local.mk.

check_PROGRAMS += test/unit/verbs/verbs_test
TESTS          += test/unit/verbs/verbs_test test/unit/verbs/symbols.sh
EXTRA_DIST     += test/unit/verbs/symbols.sh
test_unit_verbs_verbs_test_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_unit_verbs_verbs_test_LDADD    = src/verbs/libbe_verbs.la $(BOOST_TEST_LIBS)
test_unit_verbs_verbs_test_SOURCES  = \
	test/unit/verbs/async_test.cpp \
	test/unit/verbs/discovery_test.cpp \
	test/unit/verbs/fake_sysfs.hpp \
	test/unit/verbs/gid_test.cpp \
	test/unit/verbs/main.cpp \
	test/unit/verbs/mock_library.cpp \
	test/unit/verbs/mock_library.hpp \
	test/unit/verbs/objects_test.cpp \
	test/unit/verbs/port_rate_test.cpp \
	test/unit/verbs/soft_fixture.cpp \
	test/unit/verbs/soft_fixture.hpp \
	test/unit/verbs/soft_test.cpp
