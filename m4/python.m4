dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Python and pybind11 (optional): the module byteexpress. Python itself has no sanitizer, so
dnl it could not load a module that has one.
AC_DEFUN([BE_PYTHON], [
    BE_WITH([python], [prefix of the Python to build a module for (optional)])
    AC_ARG_VAR([pyexecdir], [folder of the Python module])
    be_python=no
    AS_IF([test "x$be_with" != xno && test "x$be_sanitize" = x], [
        AS_CASE([$be_with], [guess|yes], [be_python_prefix=/usr],
                [be_python_prefix=$be_with])
        PYTHON=$be_python_prefix/bin/python3
        be_python_query() {
            "$PYTHON" -c "import os, sysconfig; print($][1)" 2>/dev/null
        }
        be_python_include=`be_python_query "sysconfig.get_path('include')"`
        PYTHON_CFLAGS="-isystem $be_python_include"
        BE_TRY([pybind11 and $PYTHON], [C++], [$PYTHON_CFLAGS -fPIC], [-shared],
               [[#include <pybind11/pybind11.h>]],
               [[return PYBIND11_VERSION_HEX < 0x02060000;]], [be_python=yes],
               [AS_IF([test "x$be_with" != xguess],
                      [BE_MISSING([pybind11], [pybind11-dev python3-dev], [python])])])
        be_python_version=`be_python_query "sysconfig.get_python_version()"`
        be_python_packages=`be_python_query "os.path.basename(sysconfig.get_path('platlib'))"`
        AS_IF([test "x$pyexecdir" = x],
              [pyexecdir="\${libdir}/python$be_python_version/$be_python_packages"])
    ])
    AC_SUBST([PYTHON])
    AC_SUBST([PYTHON_CFLAGS])
    AM_CONDITIONAL([HAVE_PYTHON], [test "x$be_python" = xyes])
])
