dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl hwloc: NUMA placement of memory and queues.
AC_DEFUN([BE_HWLOC], [
    BE_WITH([hwloc], [prefix of hwloc 2])
    AS_IF([test "x$be_with" = xno], [AC_MSG_ERROR([--without-hwloc: hwloc is needed])])
    BE_LOCATE([HWLOC], [hwloc], [-lhwloc])
    BE_TRY([hwloc 2], [C], [$HWLOC_CFLAGS], [$HWLOC_LIBS], [[
#include <hwloc.h>
#if HWLOC_API_VERSION < 0x00020000
#error too old
#endif]], [[hwloc_topology_t t; return hwloc_topology_init(&t);]],
           [], [BE_MISSING([hwloc 2], [libhwloc-dev], [hwloc])])
])
