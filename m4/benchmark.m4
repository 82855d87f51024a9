dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Google Benchmark (optional): the micro benchmarks of `make bench`.
AC_DEFUN([BE_BENCHMARK], [
    BE_WITH([benchmark], [prefix of Google Benchmark (optional)])
    be_benchmark=no
    AS_IF([test "x$be_with" != xno], [
        BE_LOCATE([BENCHMARK], [benchmark], [-lbenchmark])
        BE_TRY([Google Benchmark], [C++], [$BENCHMARK_CFLAGS],
               [$BENCHMARK_LIBS -pthread], [[#include <benchmark/benchmark.h>]],
               [[benchmark::Shutdown();]], [be_benchmark=yes],
               [AS_IF([test "x$be_with" != xguess],
                      [BE_MISSING([Google Benchmark], [libbenchmark-dev], [benchmark])])])
    ])
    AM_CONDITIONAL([HAVE_BENCHMARK], [test "x$be_benchmark" = xyes])
])
