# src/softrdma: the software RDMA device. Includes nothing of the rest; preloaded, or loaded by src/verbs.

module_LTLIBRARIES += src/softrdma/libsoftrdma.la
src_softrdma_libsoftrdma_la_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
src_softrdma_libsoftrdma_la_LDFLAGS = \
	$(AM_LDFLAGS) -module -avoid-version -shared $(BE_NO_UNDEFINED) -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/src/softrdma/exports.map
src_softrdma_libsoftrdma_la_DEPENDENCIES = src/softrdma/exports.map
src_softrdma_libsoftrdma_la_LIBADD = -ldl -lpthread
src_softrdma_libsoftrdma_la_SOURCES = \
	src/softrdma/ah.h \
	src/softrdma/atomic.cpp \
	src/softrdma/brief_lock.cpp \
	src/softrdma/brief_lock.h \
	src/softrdma/channel.cpp \
	src/softrdma/channel.h \
	src/softrdma/clock.h \
	src/softrdma/cma.cpp \
	src/softrdma/cma.h \
	src/softrdma/context.cpp \
	src/softrdma/context.h \
	src/softrdma/context_file.cpp \
	src/softrdma/context_file.h \
	src/softrdma/counters.cpp \
	src/softrdma/counters.h \
	src/softrdma/cq.cpp \
	src/softrdma/cq.h \
	src/softrdma/cq_ex.cpp \
	src/softrdma/cq_push.cpp \
	src/softrdma/deliver.cpp \
	src/softrdma/device.cpp \
	src/softrdma/device.h \
	src/softrdma/device_number.h \
	src/softrdma/events.cpp \
	src/softrdma/events.h \
	src/softrdma/execute.cpp \
	src/softrdma/execute.h \
	src/softrdma/exports.h \
	src/softrdma/exports_device.cpp \
	src/softrdma/exports_memory.cpp \
	src/softrdma/exports_names.cpp \
	src/softrdma/exports_queue.cpp \
	src/softrdma/fabric.cpp \
	src/softrdma/fabric.h \
	src/softrdma/fabric_line.h \
	src/softrdma/fabric_model.cpp \
	src/softrdma/fabric_model.h \
	src/softrdma/fabric_queue.cpp \
	src/softrdma/fabric_settings.cpp \
	src/softrdma/fabric_settings.h \
	src/softrdma/fabric_state.h \
	src/softrdma/fault.cpp \
	src/softrdma/fault.h \
	src/softrdma/faults.cpp \
	src/softrdma/faults.h \
	src/softrdma/freed_slots.h \
	src/softrdma/guard.cpp \
	src/softrdma/guard.h \
	src/softrdma/idle.cpp \
	src/softrdma/idle.h \
	src/softrdma/id_table.h \
	src/softrdma/interpose.cpp \
	src/softrdma/interpose.h \
	src/softrdma/key_values.cpp \
	src/softrdma/key_values.h \
	src/softrdma/keys.h \
	src/softrdma/layout.h \
	src/softrdma/log.cpp \
	src/softrdma/locked_memory.h \
	src/softrdma/log.h \
	src/softrdma/mr.cpp \
	src/softrdma/mr.h \
	src/softrdma/mw.cpp \
	src/softrdma/mw.h \
	src/softrdma/operation.h \
	src/softrdma/orders.h \
	src/softrdma/packet_source.h \
	src/softrdma/pd.cpp \
	src/softrdma/pd.h \
	src/softrdma/peer.cpp \
	src/softrdma/peer.h \
	src/softrdma/port.h \
	src/softrdma/process.cpp \
	src/softrdma/process.h \
	src/softrdma/quantity.cpp \
	src/softrdma/quantity.h \
	src/softrdma/qp.cpp \
	src/softrdma/qp.h \
	src/softrdma/qp_builder.cpp \
	src/softrdma/qp_builder.h \
	src/softrdma/qp_fabric.cpp \
	src/softrdma/qp_masks.cpp \
	src/softrdma/qp_masks.h \
	src/softrdma/qp_request.h \
	src/softrdma/qp_send.cpp \
	src/softrdma/qp_state.cpp \
	src/softrdma/real.cpp \
	src/softrdma/reclaim.cpp \
	src/softrdma/reclaim.h \
	src/softrdma/registry.cpp \
	src/softrdma/registry.h \
	src/softrdma/relay.cpp \
	src/softrdma/relay.h \
	src/softrdma/relay_errand.cpp \
	src/softrdma/relay_errand.h \
	src/softrdma/relay_pool.cpp \
	src/softrdma/relay_pool.h \
	src/softrdma/relay_server.cpp \
	src/softrdma/relay_server.h \
	src/softrdma/relay_window.cpp \
	src/softrdma/relay_window.h \
	src/softrdma/resource_limit.h \
	src/softrdma/rq.cpp \
	src/softrdma/rq.h \
	src/softrdma/rq_claim.cpp \
	src/softrdma/rq_slots.h \
	src/softrdma/segment.cpp \
	src/softrdma/segment.h \
	src/softrdma/service.cpp \
	src/softrdma/service.h \
	src/softrdma/settings.cpp \
	src/softrdma/settings.h \
	src/softrdma/shared_lock.cpp \
	src/softrdma/shared_lock.h \
	src/softrdma/sizes.h \
	src/softrdma/srq.cpp \
	src/softrdma/srq.h \
	src/softrdma/transfer.cpp \
	src/softrdma/transfer.h \
	src/softrdma/vouching.h \
	src/softrdma/withheld.h

EXTRA_DIST += src/softrdma/exports.map

# What the device and the program `softrdma` share, without the device.
noinst_LTLIBRARIES += src/softrdma/libsoftrdma_view.la
src_softrdma_libsoftrdma_view_la_SOURCES = \
	src/softrdma/cli/domain.cpp \
	src/softrdma/cli/domain.h \
	src/softrdma/cli/export.cpp \
	src/softrdma/cli/inject.cpp \
	src/softrdma/cli/inject.h \
	src/softrdma/cli/report.cpp \
	src/softrdma/cli/report.h \
	src/softrdma/cli/select.cpp \
	src/softrdma/cli/select.h \
	src/softrdma/cli/shape.cpp \
	src/softrdma/cli/shape.h \
	src/softrdma/cli/watch.cpp \
	src/softrdma/cli/watch.h \
	src/softrdma/counters.cpp \
	src/softrdma/fabric_model.cpp \
	src/softrdma/fabric_queue.cpp \
	src/softrdma/fabric_settings.cpp \
	src/softrdma/fault.cpp \
	src/softrdma/key_values.cpp \
	src/softrdma/log.cpp \
	src/softrdma/quantity.cpp \
	src/softrdma/registry.cpp
src_softrdma_libsoftrdma_view_la_CPPFLAGS = $(AM_CPPFLAGS) $(JSON_CFLAGS)

bin_PROGRAMS += src/softrdma/softrdma
src_softrdma_softrdma_SOURCES  = src/softrdma/cli/main.cpp
src_softrdma_softrdma_CPPFLAGS = $(AM_CPPFLAGS) $(CLI11_CFLAGS)
src_softrdma_softrdma_LDADD    = src/softrdma/libsoftrdma_view.la
