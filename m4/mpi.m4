dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl MPI (optional): compiler and launcher for the MPI tests.
AC_DEFUN([BE_MPI], [
    BE_WITH([mpi], [prefix of an MPI with mpicc and mpirun (optional)])
    be_mpi=no
    AS_IF([test "x$be_with" != xno], [
        AS_CASE([$be_with], [/*], [be_path=$be_with/bin], [be_path=$PATH])
        AC_PATH_PROG([MPICC], [mpicc], [], [$be_path])
        AC_PATH_PROG([MPIRUN], [mpirun], [], [$be_path])
        AS_IF([test "x$MPICC" != x && test "x$MPIRUN" != x], [
            AC_MSG_CHECKING([whether $MPICC compiles an MPI program])
            be_save_CC=$CC
            CC=$MPICC
            AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
                                            [[return MPI_Init(0, 0);]])],
                           [be_mpi=yes])
            CC=$be_save_CC
            AC_MSG_RESULT([$be_mpi])])
        AS_IF([test $be_mpi = no && test "x$be_with" != xguess],
              [BE_MISSING([mpicc or mpirun], [openmpi-bin libopenmpi-dev], [mpi])])
    ])
    AC_SUBST([MPICC])
    AC_SUBST([MPIRUN])
    AM_CONDITIONAL([HAVE_MPI], [test "x$be_mpi" = xyes])
])
