dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl libFuzzer comes with clang: HAVE_LIBFUZZER says that the compiler in use links
dnl with -fsanitize=fuzzer. Without it the fuzzers' own driver runs their corpus.
AC_DEFUN([BE_FUZZER], [
    AC_LANG_PUSH([C++])
    be_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -fsanitize=fuzzer"
    AC_MSG_CHECKING([for libFuzzer (-fsanitize=fuzzer)])
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }]])],
                   [be_fuzzer=yes], [be_fuzzer=no])
    AC_MSG_RESULT([$be_fuzzer])
    CXXFLAGS=$be_save_CXXFLAGS
    AC_LANG_POP([C++])
    AM_CONDITIONAL([HAVE_LIBFUZZER], [test "x$be_fuzzer" = xyes])
])
