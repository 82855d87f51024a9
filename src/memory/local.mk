# Build rules of src/memory/; included by the top-level Makefile.am.

noinst_LTLIBRARIES += src/memory/libbe_memory.la
src_memory_libbe_memory_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
src_memory_libbe_memory_la_LIBADD   = $(HWLOC_LIBS)
src_memory_libbe_memory_la_SOURCES = \
	src/memory/arena.cpp \
	src/memory/arena.hpp \
	src/memory/arena_grow.cpp \
	src/memory/arena_impl.hpp \
	src/memory/arena_region.cpp \
	src/memory/arena_region.hpp \
	src/memory/arena_take.cpp \
	src/memory/fork_mutex.cpp \
	src/memory/fork_mutex.hpp \
	src/memory/grower.cpp \
	src/memory/grower.hpp \
	src/memory/heap.cpp \
	src/memory/heap.hpp \
	src/memory/heap_counters.cpp \
	src/memory/heap_counters.hpp \
	src/memory/heap_debug.cpp \
	src/memory/heap_debug.hpp \
	src/memory/heap_stats.hpp \
	src/memory/heap_threads.cpp \
	src/memory/heap_threads.hpp \
	src/memory/memory_group.cpp \
	src/memory/memory_group.hpp \
	src/memory/numa.cpp \
	src/memory/numa.hpp \
	src/memory/page_map.cpp \
	src/memory/page_map.hpp \
	src/memory/pool.cpp \
	src/memory/pool.hpp \
	src/memory/pool_index.cpp \
	src/memory/pool_index.hpp \
	src/memory/region.cpp \
	src/memory/region.hpp \
	src/memory/region_index.cpp \
	src/memory/region_index.hpp \
	src/memory/region_system.cpp \
	src/memory/region_system.hpp \
	src/memory/registration.hpp \
	src/memory/size_class.hpp \
	src/memory/slab.cpp \
	src/memory/slab.hpp \
	src/memory/thread_cache.cpp \
	src/memory/thread_cache.hpp
