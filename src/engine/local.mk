# src/engine: drives core over verbs and control; a C facade for the UCX component.

noinst_LTLIBRARIES += src/engine/libbe_engine.la
src_engine_libbe_engine_la_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
src_engine_libbe_engine_la_CXXFLAGS = $(AM_CXXFLAGS) $(FMT_CFLAGS) $(SODIUM_CFLAGS)
src_engine_libbe_engine_la_SOURCES = \
	src/engine/address.cpp \
	src/engine/address.hpp \
	src/engine/announce.cpp \
	src/engine/bulk.cpp \
	src/engine/bulk_operation.hpp \
	src/engine/c_api.cpp \
	src/engine/c_api.h \
	src/engine/c_device.cpp \
	src/engine/c_guard.hpp \
	src/engine/c_peer.cpp \
	src/engine/channel.cpp \
	src/engine/connection.cpp \
	src/engine/credit.cpp \
	src/engine/device.cpp \
	src/engine/device.hpp \
	src/engine/device_events.cpp \
	src/engine/device_events.hpp \
	src/engine/fabric.cpp \
	src/engine/fabric.hpp \
	src/engine/fabric_counters.hpp \
	src/engine/failure.cpp \
	src/engine/fallback.cpp \
	src/engine/fault.cpp \
	src/engine/fault.hpp \
	src/engine/fifo.hpp \
	src/engine/flush.cpp \
	src/engine/inbox.cpp \
	src/engine/inbox.hpp \
	src/engine/limits.hpp \
	src/engine/link.hpp \
	src/engine/log.cpp \
	src/engine/log.hpp \
	src/engine/mailbox.hpp \
	src/engine/member.cpp \
	src/engine/member.hpp \
	src/engine/member_lock.hpp \
	src/engine/member_sleep.cpp \
	src/engine/messages.cpp \
	src/engine/metrics.cpp \
	src/engine/metrics_server.cpp \
	src/engine/metrics_server.hpp \
	src/engine/notices.cpp \
	src/engine/outgoing.cpp \
	src/engine/outgoing.hpp \
	src/engine/parked.cpp \
	src/engine/parked.hpp \
	src/engine/peer.hpp \
	src/engine/progress.cpp \
	src/engine/qpn_table.hpp \
	src/engine/queue_directory.cpp \
	src/engine/queue_directory.hpp \
	src/engine/receive.cpp \
	src/engine/receive_ring.cpp \
	src/engine/receive_ring.hpp \
	src/engine/recoverer.hpp \
	src/engine/recovery.cpp \
	src/engine/recovery_record.cpp \
	src/engine/recovery_record.hpp \
	src/engine/registry.cpp \
	src/engine/registry.hpp \
	src/engine/remote.cpp \
	src/engine/remote_keys.cpp \
	src/engine/remote_keys.hpp \
	src/engine/replay.cpp \
	src/engine/replay_ring.hpp \
	src/engine/send_account.hpp \
	src/engine/send_queue.hpp \
	src/engine/sharing.cpp \
	src/engine/silence.cpp \
	src/engine/stats_file.cpp \
	src/engine/stats_file.hpp \
	src/engine/tcp_arrivals.cpp \
	src/engine/tcp_frame.cpp \
	src/engine/tcp_frame.hpp \
	src/engine/tcp_path.cpp \
	src/engine/tcp_path.hpp \
	src/engine/tcp_peer.hpp \
	src/engine/timer.cpp \
	src/engine/timer.hpp \
	src/engine/waker.cpp \
	src/engine/waker.hpp \
	src/engine/wiring.cpp
src_engine_libbe_engine_la_LIBADD = \
	src/control/libbe_control.la \
	src/verbs/libbe_verbs.la \
	src/memory/libbe_memory.la \
	src/core/libbe_core.la \
	$(FMT_LIBS) $(SODIUM_LIBS) -ldl
