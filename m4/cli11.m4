dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl CLI11: the command lines of the tools (headers only).
AC_DEFUN([BE_CLI11], [
    BE_WITH([cli11], [prefix of CLI11])
    AS_IF([test "x$be_with" = xno], [AC_MSG_ERROR([--without-cli11: CLI11 is needed])])
    BE_LOCATE([CLI11], [CLI11], [])
    BE_TRY([CLI11], [C++], [$CLI11_CFLAGS], [], [[#include <CLI/CLI.hpp>]],
           [[CLI::App app; return (int)app.count_all();]],
           [], [BE_MISSING([CLI11], [libcli11-dev], [cli11])])
])
