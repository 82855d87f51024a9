# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the adapter: its parts alone, and its interface over be and over tcp.

if HAVE_UCX
adapter_test_cppflags = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(UCX_CPPFLAGS) \
	$(BOOST_TEST_CPPFLAGS)

check_PROGRAMS += test/adapter/parts_test test/adapter/api_test test/adapter/restart_test
TESTS          += test/adapter/parts_test test/adapter/api.sh test/adapter/reference.sh test/adapter/symbols.sh

test_adapter_parts_test_CPPFLAGS = $(adapter_test_cppflags)
test_adapter_parts_test_LDADD    = src/adapter/libbe_adapter.la \
	src/adapter/memory/libbe_adapter_memory.la $(BOOST_TEST_LIBS)
test_adapter_parts_test_SOURCES  = \
	test/adapter/block_pool_test.cpp \
	test/adapter/body_test.cpp \
	test/adapter/exchange_message_test.cpp \
	test/adapter/main.cpp \
	test/adapter/part_window_test.cpp \
	test/adapter/timer_wheel_test.cpp \
	test/adapter/wire_test.cpp

# Inside the library, for the clients that break the protocol.
test_adapter_api_test_CPPFLAGS = $(adapter_test_cppflags)
test_adapter_api_test_LDADD    = src/adapter/libbe_adapter.la src/memory/libbe_memory.la $(BOOST_TEST_LIBS) -lpthread
test_adapter_api_test_SOURCES  = \
	test/adapter/call_test.cpp \
	test/adapter/exchange_test.cpp \
	test/adapter/failure_test.cpp \
	test/adapter/fixture.hpp \
	test/adapter/hostile_test.cpp \
	test/adapter/idle_test.cpp \
	test/adapter/main.cpp \
	test/adapter/ps_test.cpp \
	test/adapter/raw_client.hpp \
	test/adapter/raw_link.hpp \
	test/adapter/raw_server.hpp \
	test/adapter/server_test.cpp \
	test/adapter/stream_fixture.hpp \
	test/adapter/stream_hostile_test.cpp \
	test/adapter/stream_failure_test.cpp \
	test/adapter/stream_test.cpp

test_adapter_restart_test_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
test_adapter_restart_test_LDADD    = $(ADAPTER_LIBS) -lpthread
test_adapter_restart_test_SOURCES  = \
	test/adapter/child.hpp test/adapter/fixture.hpp test/adapter/restart_test.cpp

# Inside the library, for the memory of parts.
check_PROGRAMS += test/adapter/stream_death_test
test_adapter_stream_death_test_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(UCX_CPPFLAGS)
test_adapter_stream_death_test_LDADD    = src/adapter/libbe_adapter.la \
	src/memory/libbe_memory.la -lpthread
test_adapter_stream_death_test_SOURCES  = \
	test/adapter/child.hpp test/adapter/fixture.hpp test/adapter/stream_death_test.cpp \
	test/adapter/stream_fixture.hpp

# Compiled as C; linked as C++, whose sanitizer runtime the library needs.
check_PROGRAMS += test/adapter/c_api_test test/adapter/c_stream_test
test_adapter_c_api_test_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
test_adapter_c_api_test_LDADD    = $(ADAPTER_LIBS) -lpthread
test_adapter_c_api_test_SOURCES  = test/adapter/c_api_test.c test/adapter/c_check.h
nodist_EXTRA_test_adapter_c_api_test_SOURCES = dummy.cxx
test_adapter_c_stream_test_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
test_adapter_c_stream_test_LDADD    = $(ADAPTER_LIBS) -lpthread
test_adapter_c_stream_test_SOURCES  = \
	test/adapter/c_check.h test/adapter/c_stream_fixture.h test/adapter/c_stream_test.c
nodist_EXTRA_test_adapter_c_stream_test_SOURCES = dummy.cxx

check_PROGRAMS += examples/hello examples/hello_rpc examples/logistic_regression examples/upload
TESTS          += test/adapter/examples.sh
examples_hello_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
examples_hello_LDADD    = $(ADAPTER_LIBS)
examples_hello_SOURCES  = examples/hello.c
nodist_EXTRA_examples_hello_SOURCES = dummy.cxx
examples_hello_rpc_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
examples_hello_rpc_LDADD    = $(ADAPTER_LIBS)
examples_hello_rpc_SOURCES  = examples/hello_rpc.cpp
examples_logistic_regression_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
examples_logistic_regression_LDADD    = $(ADAPTER_LIBS) -lpthread
examples_logistic_regression_SOURCES  = examples/logistic_regression.cpp
examples_upload_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
examples_upload_LDADD    = $(ADAPTER_LIBS)
examples_upload_SOURCES  = examples/upload.cpp
endif

EXTRA_DIST += test/adapter/again.sh test/adapter/api.sh test/adapter/examples.sh \
	test/adapter/reference.sh test/adapter/symbols.sh
