dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl UCX: the installed library and the source tree of the same version, which
dnl holds the internal headers that a transport is built from.
dnl
dnl UCX gives no guarantee for those headers: the version must match exactly, and
dnl what differs between releases is found by probes (m4/ucx_probes.m4).

dnl BE_VERSION_SED extracts the first x.y.z of its input.
m4_define([BE_VERSION_SED],
          ['s/^@<:@^0-9@:>@*\(@<:@0-9@:>@@<:@0-9@:>@*\.@<:@0-9@:>@@<:@0-9@:>@*\.@<:@0-9@:>@@<:@0-9@:>@*\).*/\1/p'])

AC_DEFUN([BE_UCX_LIBRARY], [
    AS_CASE([$be_with_ucx],
        [/*], [UCX_CPPFLAGS="-isystem $be_with_ucx/include"
               UCX_LDFLAGS="-L$be_with_ucx/lib -Wl,-rpath,$be_with_ucx/lib"
               be_path=$be_with_ucx/bin],
        [UCX_CPPFLAGS=
         UCX_LDFLAGS=
         be_path=$PATH])
    AC_PATH_PROG([UCX_INFO], [ucx_info], [], [$be_path])
    AC_PATH_PROG([UCX_PERFTEST], [ucx_perftest], [], [$be_path])
    AS_IF([test "x$UCX_INFO" = x],
          [BE_MISSING([ucx_info (UCX's tool, which tells how the library was built)],
                      [ucx-utils], [ucx])])
    UCT_LIBS="-luct -lucs"
    UCP_LIBS="-lucp -lucs"
    BE_TRY([libucp, libuct and libucs], [C], [$UCX_CPPFLAGS],
           [$UCX_LDFLAGS -lucp -luct -lucs], [[
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>]], [[return ucp_get_version_string() == 0;]],
           [], [BE_MISSING([UCX], [libucx-dev], [ucx])])
])

AC_DEFUN([BE_UCX_SOURCE], [
    AC_ARG_WITH([ucx-src],
        [AS_HELP_STRING([--with-ucx-src=DIR],
                        [UCX source tree of the installed version (default: .ucx-src,
                         filled by contrib/fetch-ucx.sh)])],
        [], [with_ucx_src=$srcdir/.ucx-src])
    AC_MSG_CHECKING([for UCX's internal headers])
    AS_IF([test -f "$with_ucx_src/src/uct/base/uct_iface.h"],
          [be_ucx_src=`cd "$with_ucx_src" && pwd`
           AC_MSG_RESULT([$be_ucx_src/src])],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([no src/uct/base/uct_iface.h in $with_ucx_src
    UCX's internal headers are in no package; they come from its source tree.
    Debian and Ubuntu: contrib/fetch-ucx.sh fetches it.
    Elsewhere: --with-ucx-src=DIR, or --without-ucx to build without the transport])])
    AS_VAR_APPEND([be_distcheck_flags], [" --with-ucx-src=$be_ucx_src"])
])

dnl The running library, the installed headers and the source tree are one release.
AC_DEFUN([BE_UCX_VERSIONS], [
    AC_MSG_CHECKING([UCX versions of library, headers and source])
    be_ucx_version=`"$UCX_INFO" -v | $SED -n BE_VERSION_SED | head -n 1`
    be_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$UCX_CPPFLAGS $CPPFLAGS"
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <uct/api/version.h>
be_version UCT_VERNO_MAJOR.UCT_VERNO_MINOR.UCT_VERNO_PATCH]])],
        [be_ucx_headers=`$GREP -v '^@%:@' conftest.i | tr -d ' \n' | $SED -n BE_VERSION_SED`],
        [be_ucx_headers=none])
    CPPFLAGS=$be_save_CPPFLAGS
    be_ucx_source=`$SED -n 's/^.*(@<:@@<:@@:>@ucx_ver_\(major\|minor\|patch\)@<:@@:>@@:>@, *\(@<:@0-9@:>@*\)).*/\2/p' \
        "$be_ucx_src/configure.ac" | tr '\n' '.' | $SED 's/\.$//'`
    AC_MSG_RESULT([$be_ucx_version, $be_ucx_headers, $be_ucx_source])
    AS_IF([test "x$be_ucx_version" = x],
          [AC_MSG_ERROR([$UCX_INFO -v names no version])])
    AS_IF([test "x$be_ucx_version" != "x$be_ucx_headers"],
          [AC_MSG_ERROR([the UCX library is $be_ucx_version but its headers are of $be_ucx_headers])])
    AS_IF([test "x$be_ucx_version" != "x$be_ucx_source"],
          [AC_MSG_ERROR([the UCX library is $be_ucx_version but $be_ucx_src is of $be_ucx_source
    Debian and Ubuntu: contrib/fetch-ucx.sh fetches the matching source.
    Elsewhere: --with-ucx-src=DIR])])
    AC_DEFINE_UNQUOTED([BE_UCX_VERSION], ["$be_ucx_version"],
                       [UCX release that this was built for])
])

dnl UCX's headers include "config.h": it must be that of the installed library,
dnl whose options (ENABLE_STATS above all) change the layout of base classes.
AC_DEFUN([BE_UCX_OPTIONS], [
    AS_MKDIR_P([ucx-config])
    "$UCX_INFO" -b | $GREP '^#define' > ucx-config/config.h ||
        AC_MSG_ERROR([$UCX_INFO -b does not print how UCX was built])
    AC_MSG_CHECKING([whether UCX was built with statistics])
    AS_IF([$GREP -q '^#define ENABLE_STATS  *1' ucx-config/config.h],
          [be_ucx_stats=yes], [be_ucx_stats=no])
    AC_MSG_RESULT([$be_ucx_stats])
    AM_CONDITIONAL([HAVE_UCX_STATS], [test $be_ucx_stats = yes])
])

AC_DEFUN([BE_UCX], [
    BE_WITH([ucx], [prefix of UCX 1.13 or later])
    be_with_ucx=$be_with
    AC_ARG_WITH([ucx-moduledir],
        [AS_HELP_STRING([--with-ucx-moduledir=DIR],
                        [where the plugin goes (default: LIBDIR/ucx)])],
        [], [with_ucx_moduledir='${libdir}/ucx'])
    be_moduledir=$with_ucx_moduledir
    AC_SUBST([moduledir], [$be_moduledir])

    be_have_ucx=no
    be_ucx_summary=no
    AS_IF([test "x$be_with_ucx" != xno], [
        BE_UCX_LIBRARY
        BE_UCX_SOURCE
        BE_UCX_VERSIONS
        BE_UCX_OPTIONS
        UCX_SRC_CPPFLAGS="-isystem \$(top_builddir)/ucx-config -isystem $be_ucx_src/src"
        BE_UCX_PROBES
        be_have_ucx=yes
        be_ucx_summary="$be_ucx_version (source: $be_ucx_src)"
    ], [AM_CONDITIONAL([HAVE_UCX_STATS], [false])])
    AC_SUBST([UCX_CPPFLAGS])
    AC_SUBST([UCX_LDFLAGS])
    AC_SUBST([UCX_SRC_CPPFLAGS])
    AC_SUBST([UCX_VERSION], [$be_ucx_version])
    AC_SUBST([UCX_SRC], [$be_ucx_src])
    AC_SUBST([UCT_LIBS])
    AC_SUBST([UCP_LIBS])
    AM_CONDITIONAL([HAVE_UCX], [test $be_have_ucx = yes])
])
