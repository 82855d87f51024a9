# Unit tests of src/core; included by test/unit/local.mk. Standard library and Boost.Test
# only: neither UCX nor verbs is on the include path.

check_PROGRAMS += test/unit/core/core_test
TESTS          += test/unit/core/core_test
test_unit_core_core_test_CPPFLAGS = \
	-I$(top_srcdir)/src $(BOOST_TEST_CPPFLAGS) \
	-DBE_RECOVERY_TABLE='"$(abs_top_srcdir)/test/model/recovery.table"'
test_unit_core_core_test_LDADD    = src/core/libbe_core.la $(BOOST_TEST_LIBS)
test_unit_core_core_test_SOURCES  = \
	test/unit/core/action_test.cpp \
	test/unit/core/byte_pool_test.cpp \
	test/unit/core/credit_account_test.cpp \
	test/unit/core/flow_bulk_test.cpp \
	test/unit/core/flow_cost_test.cpp \
	test/unit/core/flow_crowd_test.cpp \
	test/unit/core/flow_fixture.hpp \
	test/unit/core/flow_property_test.cpp \
	test/unit/core/flow_sleep_test.cpp \
	test/unit/core/flow_test.cpp \
	test/unit/core/from_environment.hpp \
	test/unit/core/index_list_test.cpp \
	test/unit/core/main.cpp \
	test/unit/core/network.cpp \
	test/unit/core/network.hpp \
	test/unit/core/network_bytes.cpp \
	test/unit/core/network_recovery.cpp \
	test/unit/core/pool_fixture.hpp \
	test/unit/core/receive_pool_cell_test.cpp \
	test/unit/core/receive_pool_note_test.cpp \
	test/unit/core/receive_pool_request_test.cpp \
	test/unit/core/receive_pool_revoke_test.cpp \
	test/unit/core/receive_pool_test.cpp \
	test/unit/core/recovery_pair_test.cpp \
	test/unit/core/recovery_table.cpp \
	test/unit/core/recovery_table.hpp \
	test/unit/core/recovery_table_test.cpp \
	test/unit/core/recovery_test.cpp \
	test/unit/core/recovery_world.cpp \
	test/unit/core/recovery_world.hpp \
	test/unit/core/scheduler_test.cpp \
	test/unit/core/sequence_test.cpp \
	test/unit/core/serial_test.cpp \
	test/unit/core/window_test.cpp \
	test/unit/core/wire_test.cpp
