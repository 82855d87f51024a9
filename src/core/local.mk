# src/core: the protocol, pure. Standard library only; no globals, so that it can be
# linked more than once.

noinst_LTLIBRARIES += src/core/libbe_core.la

src_core_libbe_core_la_SOURCES = \
	src/core/action.hpp \
	src/core/backoff.hpp \
	src/core/byte_account.hpp \
	src/core/byte_pool.cpp \
	src/core/byte_pool.hpp \
	src/core/byte_pool_account.hpp \
	src/core/byte_pool_late.cpp \
	src/core/byte_pool_serve.cpp \
	src/core/credit_account.hpp \
	src/core/flow.cpp \
	src/core/flow_bulk.cpp \
	src/core/flow_bytes.cpp \
	src/core/flow.hpp \
	src/core/flow_peer.hpp \
	src/core/flow_recovery.cpp \
	src/core/flow_stats.cpp \
	src/core/flow_stats.hpp \
	src/core/flow_types.hpp \
	src/core/grant_log.hpp \
	src/core/grant_totals.hpp \
	src/core/index_list.hpp \
	src/core/invariant.hpp \
	src/core/position.hpp \
	src/core/receive_pool.cpp \
	src/core/receive_pool.hpp \
	src/core/receive_pool_account.hpp \
	src/core/receive_pool_serve.cpp \
	src/core/recovery.cpp \
	src/core/recovery.hpp \
	src/core/recovery_durations.hpp \
	src/core/recovery_types.hpp \
	src/core/scheduler.hpp \
	src/core/sequence.hpp \
	src/core/serial.hpp \
	src/core/shared_text.hpp \
	src/core/stats_page.hpp \
	src/core/stats_reader.cpp \
	src/core/stats_reader.hpp \
	src/core/total_account.hpp \
	src/core/window.hpp \
	src/core/wire.cpp \
	src/core/wire.hpp
