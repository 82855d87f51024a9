#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The example that uses MPI and calls in one process, compiled as its reader would.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start adapter-mpi
be_need "${MPIRUN:-mpirun}" openmpi-bin
be_need "${MPICC:-mpicc}" libopenmpi-dev
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
libraries=$BE_BUILDDIR/src/adapter/.libs
"${MPICC:-mpicc}" -std=gnu11 -Wall -Wextra -Werror -I"$BE_SRCDIR/src/adapter/include" -o "$BE_TMP/mpi_tasks" \
    "$BE_SRCDIR/examples/mpi_tasks.c" -L"$libraries" -Wl,-rpath,"$libraries" -lbyteexpress -lm ||
    be_abort "examples/mpi_tasks.c does not compile"

for ranks in 1 4; do
    be_case "mpi_tasks, $ranks ranks" 120 "${BE_PREFIX[@]}" "${MPIRUN:-mpirun}" --oversubscribe --bind-to none \
        -np "$ranks" "$BE_TMP/mpi_tasks"
    if grep -qx '1000 tasks, pi is 3.141592654' "$BE_TMP/case.log" &&
        [ "$(grep -c '^rank [0-9]* of .* tasks$' "$BE_TMP/case.log")" = "$ranks" ]; then
        be_pass "each task is done once"
    else
        be_fail "the tasks of $ranks ranks" "$BE_TMP/case.log"
    fi
done
be_finish
