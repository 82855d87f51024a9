dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl FlatBuffers: the control channel's messages; flatc makes their header.
AC_DEFUN([BE_FLATBUFFERS], [
    BE_WITH([flatbuffers], [prefix of FlatBuffers, flatc in its bin/])
    AS_IF([test "x$be_with" = xno],
          [AC_MSG_ERROR([--without-flatbuffers: FlatBuffers is needed])])
    dnl Headers only: the generated code uses nothing of the library.
    BE_LOCATE([FLATBUFFERS], [], [])
    AS_CASE([$be_with],
        [/*], [AC_PATH_PROG([FLATC], [flatc], [], [$be_with/bin$PATH_SEPARATOR$PATH])],
        [AC_PATH_PROG([FLATC], [flatc])])
    AS_IF([test "x$FLATC" = x],
          [BE_MISSING([flatc], [flatbuffers-compiler], [flatbuffers])])
    BE_TRY([flatbuffers/flatbuffers.h], [C++], [$FLATBUFFERS_CFLAGS], [],
           [[#include <flatbuffers/flatbuffers.h>]],
           [[flatbuffers::FlatBufferBuilder builder; return (int)builder.GetSize();]],
           [], [BE_MISSING([FlatBuffers' headers], [libflatbuffers-dev], [flatbuffers])])
])
