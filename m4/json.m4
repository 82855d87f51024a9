dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl nlohmann/json: the tools' JSON output (headers only).
AC_DEFUN([BE_JSON], [
    BE_WITH([json], [prefix of nlohmann/json 3])
    AS_IF([test "x$be_with" = xno], [AC_MSG_ERROR([--without-json: nlohmann/json is needed])])
    BE_LOCATE([JSON], [nlohmann_json], [])
    BE_TRY([nlohmann/json], [C++], [$JSON_CFLAGS], [], [[#include <nlohmann/json.hpp>]],
           [[nlohmann::json j; return (int)j.size();]],
           [], [BE_MISSING([nlohmann/json], [nlohmann-json3-dev], [json])])
])
