# Build rules of src/control/; included by the top-level Makefile.am.

noinst_LTLIBRARIES += src/control/libbe_control.la

src_control_libbe_control_la_SOURCES = \
	src/control/address.cpp \
	src/control/address.hpp \
	src/control/asio.hpp \
	src/control/auth.cpp \
	src/control/auth.hpp \
	src/control/block_cache.cpp \
	src/control/block_cache.hpp \
	src/control/chunk.hpp \
	src/control/codec.cpp \
	src/control/codec.hpp \
	src/control/connection.cpp \
	src/control/connection.hpp \
	src/control/counters.cpp \
	src/control/counters.hpp \
	src/control/data_flow.hpp \
	src/control/data_frame.cpp \
	src/control/data_frame.hpp \
	src/control/dial.cpp \
	src/control/dial.hpp \
	src/control/failure_limiter.cpp \
	src/control/failure_limiter.hpp \
	src/control/fault_point.hpp \
	src/control/frame.cpp \
	src/control/frame.hpp \
	src/control/hex.hpp \
	src/control/listener.cpp \
	src/control/listener.hpp \
	src/control/logger.cpp \
	src/control/logger.hpp \
	src/control/messages.hpp \
	src/control/node.cpp \
	src/control/node.hpp \
	src/control/process.cpp \
	src/control/process.hpp \
	src/control/reactor.cpp \
	src/control/reactor.hpp \
	src/control/reactor_data.cpp \
	src/control/reactor_events.cpp \
	src/control/reason.cpp \
	src/control/reason.hpp \
	src/control/session.cpp \
	src/control/session.hpp \
	src/control/session_handshake.cpp \
	src/control/session_probe.cpp \
	src/control/session_traffic.cpp \
	src/control/sink.hpp \
	src/control/socket.cpp \
	src/control/socket.hpp \
	src/control/turn.cpp \
	src/control/turn.hpp \
	src/control/types.cpp \
	src/control/types.hpp \
	src/control/watch.cpp \
	src/control/watch.hpp
nodist_src_control_libbe_control_la_SOURCES = src/control/control_generated.h
src_control_libbe_control_la_CPPFLAGS = \
	$(AM_CPPFLAGS) $(BOOST_CPPFLAGS)
src_control_libbe_control_la_CXXFLAGS = \
	$(AM_CXXFLAGS) $(FLATBUFFERS_CFLAGS) $(SODIUM_CFLAGS)
src_control_libbe_control_la_LIBADD = $(SODIUM_LIBS) -lpthread

EXTRA_DIST    += src/control/control.fbs
BUILT_SOURCES += src/control/control_generated.h
CLEANFILES    += src/control/control_generated.h

src/control/control_generated.h: src/control/control.fbs
	$(AM_V_GEN)$(MKDIR_P) src/control && \
	$(FLATC) --cpp --cpp-std c++17 --scoped-enums -o src/control \
		$(srcdir)/src/control/control.fbs
