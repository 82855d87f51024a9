# SPDX-License-Identifier: BSD-3-Clause
#
# Command line tools.

# Where the installation puts things; the tools also look relative to themselves.
TOOLS_FOLDERS = -DBE_BINDIR='"$(bindir)"' -DBE_MODULEDIR='"$(moduledir)"'

bin_PROGRAMS += src/tools/be_run
dist_man_MANS = docs/man/be_info.1 docs/man/be_run.1

noinst_LTLIBRARIES += src/tools/libbe_run.la
src_tools_libbe_run_la_SOURCES = \
	src/tools/run/execute.cpp \
	src/tools/run/execute.hpp \
	src/tools/run/report_stats.cpp \
	src/tools/run/report_stats.hpp \
	src/tools/stats/print.cpp \
	src/tools/stats/read.cpp \
	src/tools/stats/stats.hpp \
	src/tools/run/modules.cpp \
	src/tools/run/modules.hpp \
	src/tools/run/plan.cpp \
	src/tools/run/plan.hpp \
	src/tools/run/ucx_library.cpp \
	src/tools/run/ucx_library.hpp
src_tools_libbe_run_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(JSON_CFLAGS)
src_tools_libbe_run_la_LIBADD = src/core/libbe_core.la

src_tools_be_run_SOURCES = src/tools/be_run.cpp
src_tools_be_run_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(CLI11_CFLAGS) \
	$(TOOLS_FOLDERS)
src_tools_be_run_LDADD = src/tools/libbe_run.la $(FMT_LIBS) -ldl
src_tools_be_run_LDFLAGS = $(AM_LDFLAGS) $(UCX_LDFLAGS)

bin_PROGRAMS += src/tools/be_info

noinst_LTLIBRARIES += src/tools/libbe_info.la
src_tools_libbe_info_la_SOURCES = \
	src/tools/doctor/advice.cpp \
	src/tools/doctor/advice.hpp \
	src/tools/doctor/machine.cpp \
	src/tools/doctor/machine.hpp \
	src/tools/doctor/metrics.cpp \
	src/tools/doctor/metrics.hpp \
	src/tools/doctor/pause_counters.cpp \
	src/tools/doctor/pause_counters.hpp \
	src/tools/doctor/print.cpp \
	src/tools/info/print.cpp \
	src/tools/info/print.hpp \
	src/tools/info/report.cpp \
	src/tools/info/report.hpp
src_tools_libbe_info_la_CPPFLAGS = \
	$(AM_CPPFLAGS) $(VERBS_CPPFLAGS) $(FMT_CFLAGS) $(JSON_CFLAGS) $(TOOLS_FOLDERS)
src_tools_libbe_info_la_LIBADD = src/tools/libbe_run.la src/verbs/libbe_verbs.la src/metrics/libbe_where.la

src_tools_be_info_SOURCES = src/tools/be_info.cpp
src_tools_be_info_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS) $(CLI11_CFLAGS)
src_tools_be_info_LDADD = src/tools/libbe_info.la $(FMT_LIBS) -ldl
src_tools_be_info_LDFLAGS = $(AM_LDFLAGS) $(UCX_LDFLAGS)

if HAVE_UCX
bin_PROGRAMS += src/tools/be_perf
dist_man_MANS += docs/man/be_perf.1

src_tools_be_perf_SOURCES = \
	src/tools/be_perf.cpp \
	src/tools/perf/client.cpp \
	src/tools/perf/content.hpp \
	src/tools/perf/footprint.cpp \
	src/tools/perf/footprint.hpp \
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
	src/tools/perf/sizes.hpp \
	src/tools/perf/transport.cpp \
	src/tools/perf/transport.hpp
src_tools_be_perf_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS) $(VERBS_CPPFLAGS) $(FMT_CFLAGS) \
	$(CLI11_CFLAGS) $(JSON_CFLAGS)
src_tools_be_perf_LDADD = $(ADAPTER_LIBS) src/tools/libbe_info.la $(FMT_LIBS) -lpthread -ldl
# The installation may be moved as a whole.
src_tools_be_perf_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib'
endif
