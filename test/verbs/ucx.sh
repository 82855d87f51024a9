#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ucx.sh - UCX's own transports for verbs, rc_verbs and ud_verbs, on the software device: ucx_perftest, and an
# MPI job of four ranks. Part of `make check`.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
export SOFTRDMA_DOMAIN=ucx-$$ SOFTRDMA_ONLY=yes
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
BE_TEST_TLS=none # not ours
be_start ucx
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need ucx_perftest ucx-utils
be_need "${MPIRUN:-mpirun}" openmpi-bin

for tls in rc_verbs,ud_verbs,self ud_verbs,self; do
    BE_PREFIX=(env "UCX_TLS=$tls" "LD_PRELOAD=$library")
    PERF_SERVER=() PERF_CLIENT=()
    for test in "tag_lat 8" "tag_bw 65536" "tag_bw 1048576" "ucp_put_lat 8" "ucp_get 65536" "ucp_am_bw 8192" \
        "ucp_fadd 8"; do
        read -r name size <<<"$test"
        rc=0
        perf_pair 60 -t "$name" -s "$size" -n 200 -w 10 -f || rc=$?
        be_verdict "$tls $name $size B" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
    done
    for program in be_mpi_ring be_mpi_collective; do
        be_case "$tls $program, 4 ranks" 120 "${BE_PREFIX[@]}" "${MPIRUN:-mpirun}" --mca pml ucx --mca osc ucx \
            --mca pml_ucx_tls any --mca pml_ucx_devices any --mca btl ^openib -x UCX_TLS -x LD_PRELOAD \
            --oversubscribe --bind-to none -np 4 "$BE_BUILDDIR/test/mpi/$program"
    done
done
be_finish
