# Build rules of src/verbs/; included by the top-level Makefile.am.

noinst_LTLIBRARIES += src/verbs/libbe_verbs.la
src_verbs_libbe_verbs_la_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
src_verbs_libbe_verbs_la_SOURCES = \
	src/verbs/completion_queue.cpp \
	src/verbs/completion_queue.hpp \
	src/verbs/context.cpp \
	src/verbs/context.hpp \
	src/verbs/descriptor.hpp \
	src/verbs/discovery.cpp \
	src/verbs/discovery.hpp \
	src/verbs/error.cpp \
	src/verbs/error.hpp \
	src/verbs/gid.cpp \
	src/verbs/gid.hpp \
	src/verbs/handle.hpp \
	src/verbs/lockable.cpp \
	src/verbs/lockable.hpp \
	src/verbs/port_probe.cpp \
	src/verbs/port_probe.hpp \
	src/verbs/port_rate.cpp \
	src/verbs/port_rate.hpp \
	src/verbs/protection_domain.cpp \
	src/verbs/protection_domain.hpp \
	src/verbs/queue_pair.cpp \
	src/verbs/queue_pair.hpp \
	src/verbs/shared_receive_queue.cpp \
	src/verbs/shared_receive_queue.hpp \
	src/verbs/sysfs.cpp \
	src/verbs/sysfs.hpp \
	src/verbs/table.cpp \
	src/verbs/table.hpp
