# Tests of src/control; included by the top-level Makefile.am.

check_PROGRAMS += test/control/control_test
TESTS          += test/control/control_test
test_control_control_test_CPPFLAGS = \
	$(AM_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_control_control_test_CXXFLAGS = \
	$(AM_CXXFLAGS) $(FLATBUFFERS_CFLAGS) $(SODIUM_CFLAGS)
test_control_control_test_LDADD = \
	src/control/libbe_control.la $(BOOST_TEST_LIBS) $(SODIUM_LIBS) -lpthread
test_control_control_test_SOURCES = \
	test/control/address_test.cpp \
	test/control/auth_test.cpp \
	test/control/child_process.cpp \
	test/control/child_process.hpp \
	test/control/codec_test.cpp \
	test/control/data_test.cpp \
	test/control/frame_test.cpp \
	test/control/hostile_test.cpp \
	test/control/limit_test.cpp \
	test/control/logger_test.cpp \
	test/control/main.cpp \
	test/control/node_data_test.cpp \
	test/control/node_fixture.hpp \
	test/control/node_rules_test.cpp \
	test/control/node_test.cpp \
	test/control/poll_test.cpp \
	test/control/poller.hpp \
	test/control/probe_test.cpp \
	test/control/process_test.cpp \
	test/control/raw_socket.cpp \
	test/control/raw_socket.hpp \
	test/control/recorder.cpp \
	test/control/recorder.hpp \
	test/control/recovery_test.cpp \
	test/control/samples.cpp \
	test/control/samples.hpp \
	test/control/session_pair.cpp \
	test/control/session_pair.hpp \
	test/control/session_states_test.cpp \
	test/control/session_test.cpp \
	test/control/session_time_test.cpp
