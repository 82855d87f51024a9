dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Language levels, warnings and optimisation: BE_CFLAGS, BE_CXXFLAGS, BE_LDFLAGS.

dnl BE_COMPILER_FLAG(LANGUAGE, VARIABLE, FLAG): append FLAG if the compiler knows it.
AC_DEFUN([BE_COMPILER_FLAG], [
    AC_LANG_PUSH([$1])
    be_save_CFLAGS=$CFLAGS
    be_save_CXXFLAGS=$CXXFLAGS
    CFLAGS="$CFLAGS -Werror $3"
    CXXFLAGS="$CXXFLAGS -Werror $3"
    AC_MSG_CHECKING([whether the $1 compiler accepts $3])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
                      [AC_MSG_RESULT([yes])
                       AS_VAR_APPEND([$2], [" $3"])],
                      [AC_MSG_RESULT([no])])
    CFLAGS=$be_save_CFLAGS
    CXXFLAGS=$be_save_CXXFLAGS
    AC_LANG_POP([$1])
])

AC_DEFUN([BE_COMPILER], [
    AC_ARG_ENABLE([debug],
        [AS_HELP_STRING([--enable-debug], [assertions, no optimisation])],
        [], [enable_debug=no])
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror],
                        [warnings are errors (default: in a git checkout only)])],
        [], [AS_IF([test -e "$srcdir/.git"], [enable_werror=yes],
                   [enable_werror=no])])

    BE_CXX_STD=-std=gnu++20
    AC_LANG_PUSH([C++])
    be_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $BE_CXX_STD"
    AC_MSG_CHECKING([whether $CXX knows C++20])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <concepts>
#include <span>
template<std::unsigned_integral T> T first(std::span<const T> s) { return s[0]; }]],
        [[const unsigned v[] = {0}; return (int)first(std::span<const unsigned>(v));]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([$CXX has no C++20: g++ 12 or clang++ 14 or later is needed
    Debian and Ubuntu: apt-get install g++ libstdc++-12-dev])])
    CXXFLAGS=$be_save_CXXFLAGS
    AC_LANG_POP([C++])

    dnl A test is compiled for a single run: BE_TEST_FLAGS make the first quicker.
    AS_IF([test "x$enable_debug" = xyes],
          [be_opt="-O0 -g3 -DBE_ENABLE_ASSERT" BE_TEST_FLAGS=],
          [be_opt="-O2 -g" BE_TEST_FLAGS="-O1 -g1"])
    AS_IF([test "x$enable_werror" = xyes], [be_werror=" -Werror"], [be_werror=])
    be_common="$be_opt -Wall -Wextra$be_werror -fPIC -fvisibility=hidden"
    BE_CFLAGS="-std=gnu11 $be_common"
    BE_CXXFLAGS="$BE_CXX_STD $be_common -fvisibility-inlines-hidden"
    BE_LDFLAGS=
    dnl A unique (STB_GNU_UNIQUE) symbol pins its library and is shared by every
    dnl library that has it: neither is wanted in a plugin.
    BE_COMPILER_FLAG([C++], [BE_CXXFLAGS], [-fno-gnu-unique])
    AC_SUBST([BE_CXX_STD])
    AC_SUBST([BE_CFLAGS])
    AC_SUBST([BE_CXXFLAGS])
    AC_SUBST([BE_TEST_FLAGS])
    AC_SUBST([BE_LDFLAGS])
])
