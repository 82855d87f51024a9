dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl libibverbs: its headers only, src/verbs opens the library at run time.
AC_DEFUN([BE_VERBS], [
    BE_WITH([verbs], [prefix of libibverbs' headers])
    AS_IF([test "x$be_with" = xno],
          [AC_MSG_ERROR([--without-verbs: the verbs headers are needed, even to
    run on the software device])])
    AS_CASE([$be_with], [/*], [VERBS_CPPFLAGS="-isystem $be_with/include"],
            [VERBS_CPPFLAGS=])
    BE_TRY([infiniband/verbs.h], [C], [$VERBS_CPPFLAGS], [],
           [[#include <infiniband/verbs.h>]],
           [[struct ibv_wc wc; (void)wc; return IBV_WC_SUCCESS;]],
           [], [BE_MISSING([infiniband/verbs.h], [libibverbs-dev], [verbs])])
    AC_SUBST([VERBS_CPPFLAGS])
])
