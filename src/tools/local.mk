# SPDX-License-Identifier: BSD-3-Clause
#
# Command line tools.

# Where the installation puts things; the tools also look relative to themselves.
TOOLS_FOLDERS = -DBE_BINDIR='"$(bindir)"' -DBE_MODULEDIR='"$(moduledir)"'

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
	$(TOOLS_FOLDERS)
src_tools_be_run_LDADD = src/tools/libbe_run.la $(FMT_LIBS) -ldl
src_tools_be_run_LDFLAGS = $(AM_LDFLAGS) $(UCX_LDFLAGS)

bin_PROGRAMS += src/tools/be_info

noinst_LTLIBRARIES += src/tools/libbe_info.la
src_tools_libbe_info_la_SOURCES = \
	src/tools/info/print.cpp \
	src/tools/info/print.hpp \
	src/tools/info/report.cpp \
	src/tools/info/report.hpp
src_tools_libbe_info_la_CPPFLAGS = \
	$(AM_CPPFLAGS) $(VERBS_CPPFLAGS) $(FMT_CFLAGS) $(JSON_CFLAGS) $(TOOLS_FOLDERS)
src_tools_libbe_info_la_LIBADD = src/tools/libbe_run.la src/verbs/libbe_verbs.la

src_tools_be_info_SOURCES = src/tools/be_info.cpp
src_tools_be_info_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS) $(CLI11_CFLAGS)
src_tools_be_info_LDADD = src/tools/libbe_info.la $(FMT_LIBS) -ldl
src_tools_be_info_LDFLAGS = $(AM_LDFLAGS) $(UCX_LDFLAGS)

if HAVE_UCX
bin_PROGRAMS += src/tools/be_perf

src_tools_be_perf_SOURCES = \
	src/tools/be_perf.cpp \
	src/tools/perf/client.cpp \
	src/tools/perf/content.hpp \
	src/tools/perf/histogram.hpp \
	src/tools/perf/measure.cpp \
	src/tools/perf/measure.hpp \
	src/tools/perf/options.cpp \
	src/tools/perf/options.hpp \
	src/tools/perf/process.cpp \
	src/tools/perf/process.hpp \
	src/tools/perf/report.cpp \
	src/tools/perf/report.hpp \
	src/tools/perf/roles.hpp \
	src/tools/perf/runtime.hpp \
	src/tools/perf/server.cpp \
	src/tools/perf/sizes.cpp \
	src/tools/perf/sizes.hpp
src_tools_be_perf_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(FMT_CFLAGS) \
	$(CLI11_CFLAGS) $(JSON_CFLAGS)
src_tools_be_perf_LDADD = $(ADAPTER_LIBS) $(FMT_LIBS) -lpthread
# The installation may be moved as a whole.
src_tools_be_perf_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib'
endif
