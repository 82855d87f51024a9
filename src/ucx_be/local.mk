# SPDX-License-Identifier: BSD-3-Clause
#
# The plugin: libuct_be.so.0, the suffix that UCX's loader takes from its own libucs. Everything of
# ours is linked in; what it exports is checked by test/uct/symbols.sh.

if HAVE_UCX
module_LTLIBRARIES += src/ucx_be/libuct_be.la

src_ucx_be_libuct_be_la_SOURCES = \
	src/ucx_be/compat.h \
	src/ucx_be/component.c \
	src/ucx_be/devices.c \
	src/ucx_be/devices.h \
	src/ucx_be/ep.c \
	src/ucx_be/ep.h \
	src/ucx_be/ep_am.c \
	src/ucx_be/ep_rma.c \
	src/ucx_be/flush.c \
	src/ucx_be/guard.c \
	src/ucx_be/guard.h \
	src/ucx_be/iface.c \
	src/ucx_be/iface.h \
	src/ucx_be/iface_query.c \
	src/ucx_be/iov.h \
	src/ucx_be/log.c \
	src/ucx_be/log.h \
	src/ucx_be/md.c \
	src/ucx_be/md.h \
	src/ucx_be/op.c \
	src/ucx_be/op.h \
	src/ucx_be/options.c \
	src/ucx_be/options.h \
	src/ucx_be/options_check.c \
	src/ucx_be/pending.c \
	src/ucx_be/progress.c \
	src/ucx_be/rcache.c \
	src/ucx_be/rcache.h \
	src/ucx_be/rkey.c \
	src/ucx_be/rkey.h \
	src/ucx_be/rx.c \
	src/ucx_be/status.c \
	src/ucx_be/status.h \
	src/ucx_be/vfs.c
# A C++ source that is not there makes automake link with the C++ compiler.
nodist_EXTRA_src_ucx_be_libuct_be_la_SOURCES = src/ucx_be/link.cc

src_ucx_be_libuct_be_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_SRC_CPPFLAGS) $(UCX_CPPFLAGS)
# Functions of UCT's tables ignore many of their arguments, and UCX's own answer for what is not
# supported is one function for all signatures.
src_ucx_be_libuct_be_la_CFLAGS   = $(AM_CFLAGS) -Wno-unused-parameter \
	-Wno-cast-function-type
# z,now: a missing symbol shows when the library is loaded, not in the middle of a job.
# z,nodelete: UCX keeps pointers into a component for ever.
# exclude-libs: nothing of the C++ runtime or of our own libraries is exported.
src_ucx_be_libuct_be_la_LDFLAGS  = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,-z,now -Wl,-z,nodelete $(BE_NO_UNDEFINED) -Wl,--exclude-libs,ALL $(UCX_LDFLAGS)
src_ucx_be_libuct_be_la_LIBADD   = src/engine/libbe_engine.la $(UCT_LIBS) -lm
endif
