# SPDX-License-Identifier: BSD-3-Clause
#
# libbe_metrics.so: metrics over HTTP, loaded by the transport when UCX_BE_METRICS is set.

EXTRA_DIST += contrib/grafana/byteexpress.json
noinst_LTLIBRARIES += src/metrics/libbe_where.la
src_metrics_libbe_where_la_SOURCES = src/metrics/where.cpp src/metrics/where.hpp

if HAVE_PROMETHEUS
module_LTLIBRARIES += src/metrics/libbe_metrics.la
src_metrics_libbe_metrics_la_SOURCES = \
	src/metrics/api.hpp \
	src/metrics/exporter.cpp \
	src/metrics/families.cpp \
	src/metrics/families.hpp
src_metrics_libbe_metrics_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROMETHEUS_CFLAGS)
src_metrics_libbe_metrics_la_LDFLAGS  = $(AM_LDFLAGS) -module -avoid-version -shared \
	$(BE_NO_UNDEFINED) -Wl,--exclude-libs,ALL
src_metrics_libbe_metrics_la_LIBADD   = src/metrics/libbe_where.la src/core/libbe_core.la \
	$(PROMETHEUS_LIBS) -lpthread
else
EXTRA_DIST += src/metrics/api.hpp src/metrics/exporter.cpp src/metrics/families.cpp \
	src/metrics/families.hpp
endif
