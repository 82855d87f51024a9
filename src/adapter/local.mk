# SPDX-License-Identifier: BSD-3-Clause
#
# libbyteexpress: the adapter for services, over UCP's public interface.

ADAPTER_LIBS     = src/adapter/libbyteexpress.la

if HAVE_UCX
byteexpress_includedir = $(includedir)/byteexpress
byteexpress_include_HEADERS = \
	src/adapter/include/byteexpress/body.hpp \
	src/adapter/include/byteexpress/byteexpress.hpp \
	src/adapter/include/byteexpress/channel.hpp \
	src/adapter/include/byteexpress/ps.hpp \
	src/adapter/include/byteexpress/rpc.h \
	src/adapter/include/byteexpress/runtime.hpp \
	src/adapter/include/byteexpress/server.hpp \
	src/adapter/include/byteexpress/status.hpp \
	src/adapter/include/byteexpress/stream.h \
	src/adapter/include/byteexpress/stream.hpp \
	src/adapter/include/byteexpress/task.hpp

# The tests look inside, which the library itself does not allow.
noinst_LTLIBRARIES += src/adapter/libbe_adapter.la
src_adapter_libbe_adapter_la_CPPFLAGS = \
	$(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(UCX_CPPFLAGS) $(HWLOC_CFLAGS) $(SODIUM_CFLAGS)
src_adapter_libbe_adapter_la_LIBADD = $(UCX_LDFLAGS) $(UCP_LIBS) $(HWLOC_LIBS) $(SODIUM_LIBS) -lpthread
src_adapter_libbe_adapter_la_SOURCES = \
	src/adapter/address.cpp \
	src/adapter/address.hpp \
	src/adapter/block_pool.cpp \
	src/adapter/block_pool.hpp \
	src/adapter/body.cpp \
	src/adapter/bytes.hpp \
	src/adapter/c_api.hpp \
	src/adapter/c_rpc.cpp \
	src/adapter/c_stream.cpp \
	src/adapter/call_state.cpp \
	src/adapter/call_state.hpp \
	src/adapter/channel.cpp \
	src/adapter/channel_connect.cpp \
	src/adapter/channel_state.cpp \
	src/adapter/channel_state.hpp \
	src/adapter/completion.cpp \
	src/adapter/completion.hpp \
	src/adapter/connection.cpp \
	src/adapter/connection.hpp \
	src/adapter/context.cpp \
	src/adapter/context.hpp \
	src/adapter/counter.hpp \
	src/adapter/endpoint.hpp \
	src/adapter/exchange/acceptor.cpp \
	src/adapter/exchange/acceptor.hpp \
	src/adapter/exchange/dialer.cpp \
	src/adapter/exchange/dialer.hpp \
	src/adapter/exchange/link.cpp \
	src/adapter/exchange/link.hpp \
	src/adapter/exchange/loop.cpp \
	src/adapter/exchange/loop.hpp \
	src/adapter/exchange/message.cpp \
	src/adapter/exchange/message.hpp \
	src/adapter/exchange/secret.cpp \
	src/adapter/exchange/secret.hpp \
	src/adapter/exchange/socket.cpp \
	src/adapter/exchange/socket.hpp \
	src/adapter/notice.hpp \
	src/adapter/part_window.hpp \
	src/adapter/pool_regions.cpp \
	src/adapter/pool_regions.hpp \
	src/adapter/posted.hpp \
	src/adapter/ps/messages.hpp \
	src/adapter/ps/push_log.hpp \
	src/adapter/ps/server.cpp \
	src/adapter/ps/snapshot.cpp \
	src/adapter/ps/snapshot.hpp \
	src/adapter/ps/stored.hpp \
	src/adapter/ps/table.cpp \
	src/adapter/ps/table.hpp \
	src/adapter/ps/worker.cpp \
	src/adapter/random.hpp \
	src/adapter/request_state.cpp \
	src/adapter/request_state.hpp \
	src/adapter/runtime.cpp \
	src/adapter/runtime_workers.hpp \
	src/adapter/server.cpp \
	src/adapter/server_connection.cpp \
	src/adapter/server_connection.hpp \
	src/adapter/server_state.cpp \
	src/adapter/server_state.hpp \
	src/adapter/status.cpp \
	src/adapter/stream.cpp \
	src/adapter/stream_messages.cpp \
	src/adapter/stream_state.cpp \
	src/adapter/stream_state.hpp \
	src/adapter/timer_wheel.hpp \
	src/adapter/topology.cpp \
	src/adapter/topology.hpp \
	src/adapter/wire.cpp \
	src/adapter/wire.hpp \
	src/adapter/worker.cpp \
	src/adapter/worker.hpp \
	src/adapter/worker_endpoints.cpp \
	src/adapter/worker_sleep.cpp \
	src/adapter/worker_ucp.cpp

lib_LTLIBRARIES += src/adapter/libbyteexpress.la
src_adapter_libbyteexpress_la_SOURCES =
nodist_EXTRA_src_adapter_libbyteexpress_la_SOURCES = dummy.cxx # links as C++
src_adapter_libbyteexpress_la_LIBADD = \
	src/adapter/libbe_adapter.la src/adapter/memory/libbe_adapter_memory.la
src_adapter_libbyteexpress_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	$(BE_NO_UNDEFINED) -Wl,--version-script=$(srcdir)/src/adapter/libbyteexpress.map
src_adapter_libbyteexpress_la_DEPENDENCIES = \
	src/adapter/libbe_adapter.la src/adapter/memory/libbe_adapter_memory.la \
	src/adapter/libbyteexpress.map
endif

# The reference of the interface as web pages: reference/html/index.html.
doxygen:
	@command -v doxygen >/dev/null || { \
		echo "make doxygen: doxygen is missing (Debian package doxygen)" >&2; exit 1; }
	$(AM_V_GEN)cd $(srcdir) && { cat docs/Doxyfile; echo 'PROJECT_NUMBER = $(PACKAGE_VERSION)'; \
		echo 'OUTPUT_DIRECTORY = "$(abs_top_builddir)/reference"'; } | doxygen -
	@echo "reference/html/index.html"

.PHONY: doxygen

EXTRA_DIST += docs/Doxyfile docs/doxygen.awk src/adapter/libbyteexpress.map
