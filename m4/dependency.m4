dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl What the checks of single dependencies have in common.

dnl BE_WITH(NAME, WHAT)
dnl Defines --with-NAME[=DIR] and sets be_with to yes, no, guess (not given) or
dnl the absolute directory. An explicit choice is kept for distcheck.
AC_DEFUN([BE_WITH], [
    AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [$2])],
                [be_with=$withval], [be_with=guess])
    AS_CASE([$be_with],
        [guess|no], [],
        [yes|""], [be_with=yes],
        [AS_IF([test -d "$be_with"], [],
               [AC_MSG_ERROR([--with-$1=$be_with: no such directory])])
         be_with=`cd "$be_with" && pwd`])
    AS_IF([test "x$be_with" != xguess],
          [AS_VAR_APPEND([be_distcheck_flags], [" --with-$1=$be_with"])])
])

dnl BE_MISSING(WHAT, PACKAGE, WITH-NAME)
AC_DEFUN([BE_MISSING], [
    AC_MSG_ERROR([$1 not found. Debian and Ubuntu: apt-get install $2
    Elsewhere, or when it lives in its own prefix: --with-$3=DIR])
])

dnl BE_LOCATE(PREFIX, PKG-MODULE, LIBS)
dnl Sets PREFIX_CFLAGS and PREFIX_LIBS from be_with: from its directory, from
dnl pkg-config, or else from the compiler's own search path and LIBS. Headers of
dnl others are system headers: their warnings are not ours.
AC_DEFUN([BE_LOCATE], [
    AS_CASE([$be_with],
        [/*], [$1_CFLAGS="-isystem $be_with/include"
               $1_LIBS="$3"
               AS_IF([test "x$3" != x],
                     [$1_LIBS="-L$be_with/lib -Wl,-rpath,$be_with/lib $3"])],
        [AS_IF([test "x$2" != x && test "x$PKG_CONFIG" != x &&
                $PKG_CONFIG --exists "$2"],
               [$1_CFLAGS=`$PKG_CONFIG --cflags "$2"`
                $1_LIBS=`$PKG_CONFIG --libs "$2"`],
               [$1_CFLAGS=
                $1_LIBS="$3"])])
    AC_SUBST([$1_CFLAGS])
    AC_SUBST([$1_LIBS])
])

dnl BE_TRY(WHAT, LANGUAGE, CFLAGS, LIBS, PROLOGUE, BODY, IF-YES, IF-NO)
dnl Compiles and links a program with these flags, and with no one else's.
AC_DEFUN([BE_TRY], [
    AC_LANG_PUSH([$2])
    be_save_CPPFLAGS=$CPPFLAGS
    be_save_CXXFLAGS=$CXXFLAGS
    be_save_LIBS=$LIBS
    CPPFLAGS="$3 $CPPFLAGS"
    AS_IF([test "x$2" = "xC++"], [CXXFLAGS="$CXXFLAGS $BE_CXX_STD"])
    LIBS="$4 $LIBS"
    AC_MSG_CHECKING([for $1])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([$5], [$6])], [be_try=yes], [be_try=no])
    AC_MSG_RESULT([$be_try])
    CPPFLAGS=$be_save_CPPFLAGS
    CXXFLAGS=$be_save_CXXFLAGS
    LIBS=$be_save_LIBS
    AC_LANG_POP([$2])
    AS_IF([test "x$be_try" = xyes], [$7], [$8])
])
