dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl --enable-asan, --enable-ubsan, --enable-tsan.

dnl BE_SANITIZER(OPTION, FLAG, TITLE, PACKAGE)
AC_DEFUN([BE_SANITIZER], [
    AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build with $3])],
                  [], [enable_$1=no])
    AS_IF([test "x$enable_$1" = xyes], [
        be_sanitizer_CXXFLAGS=$CXXFLAGS
        be_sanitizer_LDFLAGS=$LDFLAGS
        CXXFLAGS="$CXXFLAGS $2"
        LDFLAGS="$LDFLAGS $2"
        BE_TRY([$3 ($2)], [C++], [], [], [], [],
               [be_sanitize="$be_sanitize $2"],
               [AC_MSG_ERROR([--enable-$1: $CXX cannot link with $2
    Debian and Ubuntu: apt-get install $4])])
        CXXFLAGS=$be_sanitizer_CXXFLAGS
        LDFLAGS=$be_sanitizer_LDFLAGS
    ])
])

AC_DEFUN([BE_SANITIZERS], [
    be_sanitize=
    BE_SANITIZER([asan], [-fsanitize=address], [AddressSanitizer],
                 [libasan8 (or libclang-rt-14-dev)])
    BE_SANITIZER([ubsan], [-fsanitize=undefined], [UndefinedBehaviorSanitizer],
                 [libubsan1 (or libclang-rt-14-dev)])
    BE_SANITIZER([tsan], [-fsanitize=thread], [ThreadSanitizer],
                 [libtsan2 (or libclang-rt-14-dev)])
    AS_IF([test "x$enable_asan" = xyes && test "x$enable_tsan" = xyes],
          [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
    dnl null: clang takes the offsetof of UCX's headers for an access (ASan sees real
    dnl ones); vptr: reads through a pipe, which fails when a test has used up all files.
    AS_IF([test "x$enable_ubsan" = xyes],
          [be_sanitize="$be_sanitize -fno-sanitize=null,vptr -fno-sanitize-recover=undefined"])
    AS_IF([test "x$be_sanitize" != x], [
        BE_CFLAGS="$BE_CFLAGS$be_sanitize -fno-omit-frame-pointer"
        BE_CXXFLAGS="$BE_CXXFLAGS$be_sanitize -fno-omit-frame-pointer"
        BE_LDFLAGS="$BE_LDFLAGS$be_sanitize"
    ])
    AM_CONDITIONAL([HAVE_ASAN], [test "x$enable_asan" = xyes])
    AM_CONDITIONAL([HAVE_UBSAN], [test "x$enable_ubsan" = xyes])
    AM_CONDITIONAL([HAVE_TSAN], [test "x$enable_tsan" = xyes])
    dnl The sanitizers' own symbols come with the program, not with the libraries.
    AS_IF([test "x$be_sanitize" = x], [BE_NO_UNDEFINED="-Wl,-z,defs"], [BE_NO_UNDEFINED=])
    AC_SUBST([BE_NO_UNDEFINED])
    AM_CONDITIONAL([HAVE_SANITIZER], [test "x$be_sanitize" != x])
])
