dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl libsodium: the control channel's authentication.
AC_DEFUN([BE_SODIUM], [
    BE_WITH([sodium], [prefix of libsodium])
    AS_IF([test "x$be_with" = xno],
          [AC_MSG_ERROR([--without-sodium: libsodium is needed])])
    BE_LOCATE([SODIUM], [libsodium], [-lsodium])
    BE_TRY([libsodium], [C], [$SODIUM_CFLAGS], [$SODIUM_LIBS],
           [[#include <sodium.h>]], [[return sodium_init();]],
           [], [BE_MISSING([libsodium], [libsodium-dev], [sodium])])
])
