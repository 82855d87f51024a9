# test/verbs: the semantics of the software device, and other people's programs on it.

check_PROGRAMS += test/verbs/softrdma_test test/verbs/crash/crash_test test/verbs/without_cma
TESTS          += test/verbs/softrdma_test test/verbs/crash.sh test/verbs/devices.sh \
	test/verbs/pingpong.sh test/verbs/perftest.sh test/verbs/pyverbs.sh test/verbs/cli.sh \
	test/verbs/ucx.sh test/verbs/relay.sh

test_verbs_softrdma_test_SOURCES = \
	test/verbs/abandon.cpp \
	test/verbs/abandon.hpp \
	test/verbs/abandon_test.cpp \
	test/verbs/address_test.cpp \
	test/verbs/brief_lock_test.cpp \
	test/verbs/connected.hpp \
	test/verbs/counter_test.cpp \
	test/verbs/datagram_test.cpp \
	test/verbs/death_test.cpp \
	test/verbs/endpoint.cpp \
	test/verbs/endpoint.hpp \
	test/verbs/event_test.cpp \
	test/verbs/extended_test.cpp \
	test/verbs/fabric_bench.cpp \
	test/verbs/fabric_bench.hpp \
	test/verbs/fabric_model_test.cpp \
	test/verbs/fabric_parse_test.cpp \
	test/verbs/fabric_test.cpp \
	test/verbs/failure_test.cpp \
	test/verbs/fault_parse_test.cpp \
	test/verbs/fault_test.cpp \
	test/verbs/id_table_test.cpp \
	test/verbs/import_test.cpp \
	test/verbs/main.cpp \
	test/verbs/message_test.cpp \
	test/verbs/object_test.cpp \
	test/verbs/order_test.cpp \
	test/verbs/port_view.cpp \
	test/verbs/port_view.hpp \
	test/verbs/process_test.cpp \
	test/verbs/relay_test.cpp \
	test/verbs/remote_test.cpp \
	test/verbs/servant.cpp \
	test/verbs/servant.hpp \
	test/verbs/serve.cpp \
	test/verbs/site.cpp \
	test/verbs/site.hpp \
	test/verbs/small_message_test.cpp \
	test/verbs/srq_test.cpp \
	test/verbs/verbs_api.cpp \
	test/verbs/verbs_api.hpp \
	test/verbs/window_test.cpp \
	test/verbs/wire.hpp \
	test/verbs/yield_test.cpp \
	test/lib/procfs.cpp \
	test/lib/procfs.hpp \
	src/softrdma/brief_lock.cpp
test_verbs_softrdma_test_CPPFLAGS = \
	$(AM_CPPFLAGS) -I$(top_srcdir)/test $(VERBS_CPPFLAGS) $(BOOST_TEST_CPPFLAGS)
test_verbs_softrdma_test_LDADD = \
	src/softrdma/libsoftrdma_view.la $(BOOST_TEST_LIBS) -ldl -lpthread

# The device's calls of sched_yield are counted.
test_verbs_softrdma_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic-symbol=sched_yield

test_verbs_crash_crash_test_SOURCES = \
	test/verbs/crash/main.cpp \
	test/verbs/crash/message.hpp \
	test/verbs/crash/worker.cpp \
	test/verbs/crash/worker.hpp \
	test/verbs/verbs_api.cpp \
	test/verbs/verbs_api.hpp \
	test/verbs/wire.hpp
test_verbs_crash_crash_test_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
test_verbs_crash_crash_test_LDADD    = -ldl -lpthread

test_verbs_without_cma_SOURCES = test/verbs/without_cma.cpp

EXTRA_DIST += \
	test/verbs/cli.sh \
	test/verbs/ucx.sh \
	test/verbs/crash.sh \
	test/verbs/devices.sh \
	test/verbs/pair.sh \
	test/verbs/perftest.sh \
	test/verbs/pingpong.sh \
	test/verbs/pyverbs.sh \
	test/verbs/pyverbs.skipped \
	test/verbs/relay.sh \
	test/verbs/run_pyverbs.py
