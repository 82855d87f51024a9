dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl fmt: text formatting of messages and tables.
AC_DEFUN([BE_FMT], [
    BE_WITH([fmt], [prefix of fmt 9 or later])
    AS_IF([test "x$be_with" = xno], [AC_MSG_ERROR([--without-fmt: fmt is needed])])
    BE_LOCATE([FMT], [fmt], [-lfmt])
    BE_TRY([fmt], [C++], [$FMT_CFLAGS], [$FMT_LIBS], [[#include <fmt/format.h>]],
           [[return (int)fmt::format("{}", 1).size();]],
           [], [BE_MISSING([fmt], [libfmt-dev], [fmt])])
])
