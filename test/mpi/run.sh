#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI programs with 2 to 16 ranks on however many cores there are.
#   run.sh [--full]   --full: every program with every number of ranks, in either scope and with the smallest pools
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start mpi
be_need "${MPIRUN:-mpirun}" openmpi-bin
bin=$BE_BUILDDIR/test/mpi
label=
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

launch() { # RANKS SECONDS PROGRAM
    local ranks=$1 limit=$2 program=$3 options=()
    if ! be_is_be; then # be_run sets these itself
        options=(--mca pml ucx --mca osc ucx --mca pml_ucx_tls any --mca pml_ucx_devices any
            -x UCX_TLS)
    fi
    [ -x "$bin/$program" ] || { be_fail "$program is not built ($bin)"; return; }
    be_case "$program, $ranks ranks$label" "$limit" "${BE_PREFIX[@]}" "${MPIRUN:-mpirun}" \
        "${options[@]}" --oversubscribe --bind-to none -np "$ranks" "$bin/$program"
}

# Two receives, windows of a piece or two, and byte credit for eight messages.
smallest_pools() {
    export UCX_BE_RX_QUEUE_LEN=2 UCX_BE_WINDOW=16k UCX_BE_CHUNK=8k
    export UCX_BE_BYTE_CREDIT=yes UCX_BE_BYTE_BUDGET=64k
    label=" with the smallest pools"
}

all_programs() {
    local ranks program
    for ranks in 2 4 8 16; do
        for program in be_mpi_ring be_mpi_collective be_mpi_onesided be_mpi_threads be_mpi_unexpected; do
            launch "$ranks" 400 "$program"
        done
    done
}

if [ "${1:-}" = --full ]; then
    all_programs
    if be_is_be; then
        label=" in process scope" UCX_BE_MUX=process
        export UCX_BE_MUX
        all_programs
        unset UCX_BE_MUX
        smallest_pools
        all_programs
    fi
else
    for ranks in 2 4 8 16; do
        launch "$ranks" 120 be_mpi_ring
    done
    launch 2 120 be_mpi_collective
    launch 4 180 be_mpi_collective
    launch 16 300 be_mpi_collective
    launch 2 120 be_mpi_onesided
    launch 8 200 be_mpi_onesided
    launch 2 180 be_mpi_threads
    launch 4 240 be_mpi_threads
    launch 2 120 be_mpi_unexpected
    launch 4 180 be_mpi_unexpected
    if be_is_be; then
        # Windows have workers of their own, which share queue pairs with those of messages.
        export UCX_BE_MUX=process
        label=" in process scope"
        launch 16 120 be_mpi_ring
        launch 4 180 be_mpi_collective
        launch 8 200 be_mpi_onesided
        launch 4 240 be_mpi_threads
        launch 4 180 be_mpi_unexpected
        unset UCX_BE_MUX
        smallest_pools
        launch 4 120 be_mpi_ring
        launch 2 120 be_mpi_onesided
        launch 2 180 be_mpi_unexpected
    fi
fi
be_finish
