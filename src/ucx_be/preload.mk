# SPDX-License-Identifier: BSD-3-Clause
#
# libbe_preload.so: plain C, linked against nothing but libc.
module_LTLIBRARIES += src/ucx_be/libbe_preload.la
src_ucx_be_libbe_preload_la_SOURCES = src/ucx_be/preload.c
src_ucx_be_libbe_preload_la_CPPFLAGS = -I$(top_builddir) -D_GNU_SOURCE
src_ucx_be_libbe_preload_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
src_ucx_be_libbe_preload_la_LIBADD = -ldl
