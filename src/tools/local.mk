# SPDX-License-Identifier: BSD-3-Clause
#
# Command line tools.
bin_PROGRAMS += src/tools/be_run

noinst_LTLIBRARIES += src/tools/libbe_run.la
src_tools_libbe_run_la_SOURCES = \
	src/tools/run/modules.cpp \
	src/tools/run/modules.hpp \
	src/tools/run/plan.cpp \
	src/tools/run/plan.hpp \
	src/tools/run/ucx_library.cpp \
	src/tools/run/ucx_library.hpp
src_tools_libbe_run_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)

src_tools_be_run_SOURCES = src/tools/be_run.cpp
src_tools_be_run_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(CLI11_CFLAGS) \
	-DBE_BINDIR='"$(bindir)"' -DBE_MODULEDIR='"$(moduledir)"'
src_tools_be_run_LDADD = src/tools/libbe_run.la $(FMT_LIBS) -ldl
src_tools_be_run_LDFLAGS = $(AM_LDFLAGS) $(UCX_LDFLAGS)
