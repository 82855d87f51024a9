dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl prometheus-cpp (optional): UCX_BE_METRICS. Without it there is no libbe_metrics.so.
AC_DEFUN([BE_PROMETHEUS], [
    BE_WITH([prometheus], [prefix of prometheus-cpp 1 (optional)])
    be_prometheus=no
    AS_IF([test "x$be_with" != xno], [
        BE_LOCATE([PROMETHEUS], [prometheus-cpp-pull],
                  [-lprometheus-cpp-pull -lprometheus-cpp-core])
        BE_TRY([prometheus-cpp], [C++], [$PROMETHEUS_CFLAGS],
               [$PROMETHEUS_LIBS -pthread], [[#include <prometheus/exposer.h>]],
               [[prometheus::Exposer exposer("127.0.0.1:0");]], [be_prometheus=yes],
               [AS_IF([test "x$be_with" != xguess],
                      [BE_MISSING([prometheus-cpp], [prometheus-cpp-dev], [prometheus])])])
    ])
    AM_CONDITIONAL([HAVE_PROMETHEUS], [test "x$be_prometheus" = xyes])
])
