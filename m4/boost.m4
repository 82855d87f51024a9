dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl Boost: Asio (headers only) for the control channel, Test for the tests.
AC_DEFUN([BE_BOOST], [
    BE_WITH([boost], [prefix of Boost 1.74 or later])
    AS_IF([test "x$be_with" = xno], [AC_MSG_ERROR([--without-boost: Boost is needed])])
    AS_CASE([$be_with],
        [/*], [BOOST_CPPFLAGS="-isystem $be_with/include"
               be_boost_ldflags="-L$be_with/lib -Wl,-rpath,$be_with/lib "],
        [BOOST_CPPFLAGS=
         be_boost_ldflags=])
    BE_TRY([Boost.Asio, Boost 1.74 or later], [C++], [$BOOST_CPPFLAGS], [-pthread], [[
#include <boost/version.hpp>
#if BOOST_VERSION < 107400
#error too old
#endif
#include <utility> /* std::exchange, which Asio 1.74 forgets in C++20 */
#include <boost/asio.hpp>]], [[boost::asio::io_context context; context.stop();]],
           [], [BE_MISSING([Boost.Asio 1.74], [libboost-dev], [boost])])
    BOOST_TEST_CPPFLAGS="$BOOST_CPPFLAGS -DBOOST_TEST_DYN_LINK"
    BOOST_TEST_LIBS="${be_boost_ldflags}-lboost_unit_test_framework"
    AC_ARG_ENABLE([tests],
        [AS_HELP_STRING([--disable-tests], [do not build the tests])],
        [AS_IF([test "x$enableval" = xno],
               [AS_VAR_APPEND([be_distcheck_flags], [" --disable-tests"])])],
        [enable_tests=yes])
    AS_IF([test "x$enable_tests" = xyes],
          [BE_TRY([Boost.Test], [C++], [$BOOST_TEST_CPPFLAGS], [$BOOST_TEST_LIBS], [[
#define BOOST_TEST_MODULE probe
#include <boost/test/unit_test.hpp>
BOOST_AUTO_TEST_CASE(works) { BOOST_TEST(true); }
#define main unused]], [],
                  [], [BE_MISSING([Boost.Test], [libboost-test-dev (or configure with
    --disable-tests)], [boost])])])
    BE_TEST_LIBS=$BOOST_TEST_LIBS
    AC_SUBST([BOOST_CPPFLAGS])
    AC_SUBST([BOOST_TEST_CPPFLAGS])
    AC_SUBST([BOOST_TEST_LIBS])
    AC_SUBST([BE_TEST_LIBS])
    AM_CONDITIONAL([ENABLE_TESTS], [test "x$enable_tests" = xyes])
])
