# Build rules of src/adapter/memory/: allocator, buffers and chains, part of
# libbyteexpress.so; included by the top-level Makefile.am.
#
# Whoever includes <byteexpress/...> adds $(ADAPTER_CPPFLAGS).

ADAPTER_CPPFLAGS = -I$(top_srcdir)/src/adapter/include

adaptermemorydir     = $(includedir)/byteexpress
adaptermemory_HEADERS = \
	src/adapter/include/byteexpress/allocator.hpp \
	src/adapter/include/byteexpress/buffer.hpp \
	src/adapter/include/byteexpress/chain.hpp \
	src/adapter/include/byteexpress/chain_writer.hpp \
	src/adapter/include/byteexpress/export.hpp \
	src/adapter/include/byteexpress/flatbuffers.hpp \
	src/adapter/include/byteexpress/memory.h \
	src/adapter/include/byteexpress/memory.hpp \
	src/adapter/include/byteexpress/protobuf.hpp

noinst_LTLIBRARIES += src/adapter/memory/libbe_adapter_memory.la
src_adapter_memory_libbe_adapter_memory_la_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
src_adapter_memory_libbe_adapter_memory_la_LIBADD   = src/memory/libbe_memory.la
src_adapter_memory_libbe_adapter_memory_la_SOURCES  = \
	src/adapter/memory/allocator.cpp \
	src/adapter/memory/c_memory.cpp \
	src/adapter/memory/buffer.cpp \
	src/adapter/memory/chain.cpp \
	src/adapter/memory/chain_writer.cpp
