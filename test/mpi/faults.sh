#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An MPI job of four ranks on the software device whose queue pairs are broken again and again while it runs: over our
# transport it ends with the right result, over UCX's own for verbs the first fault ends it.
#   faults.sh [FAULTS]     default 100
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/mpi/job.sh
. "$(dirname "${BASH_SOURCE[0]}")/job.sh"

faults=${1:-100}
tool=${SOFTRDMA_TOOL:-$BE_BUILDDIR/src/softrdma/softrdma}
export SOFTRDMA_DOMAIN=mpi-faults-$$ SOFTRDMA_ONLY=yes
be_start mpi-faults
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need "${MPIRUN:-mpirun}" openmpi-bin

# job NAME=VALUE...: starts the ranks with that environment; process id in $job, theirs in $pids.
job() {
    local setting options=()
    for setting in "$@"; do options+=(-x "${setting%%=*}"); done
    job_start env "$@" "${under[@]}" "${MPIRUN:-mpirun}" --mca pml ucx --mca osc ucx --mca pml_ucx_tls any \
        --mca pml_ucx_devices any --mca btl ^openib "${options[@]}" --oversubscribe --bind-to none -np 4 \
        "$job_program"
    after 3 60 || return 1
    mapfile -t pids < <("$tool" show | awk '$2 == "be_mpi_faults" { print $1 }')
    [ "${#pids[@]}" = 4 ]
}

# break_it FAULT...: at one rank after the other, each when the job has come through the one before, but every fourth
# at once. A fault that hits nothing, because everything is being repaired, does not count.
break_it() {
    local count=0 fault pid give_up=$((SECONDS + 200))
    while [ "$count" -lt "$faults" ]; do
        fault=$1 pid=${pids[$((RANDOM % 4))]}
        # shellcheck disable=SC2086 # several words
        if be_bounded 20 "$tool" fault $fault "pid=$pid" >>"$BE_TMP/faults.log" 2>&1; then
            count=$((count + 1))
            [ $((count % 4)) = 0 ] || after $(($(over) + 2)) 60 || return 1
        elif [ "$SECONDS" -ge "$give_up" ] || ! kill -0 "$job" 2>/dev/null; then
            return 1
        fi
    done
}

survive() {
    local name="$faults times $1, 4 ranks${2:+, $2}" fault=$1 rc=0
    shift
    if ! job "UCX_TLS=$BE_TEST_TLS" UCX_BE_SOFT=yes "$@"; then
        be_fail "$name: the job does not start" "$job_log"
    elif ! break_it "$fault"; then
        be_fail "$name: the job stands still after $(over) rounds" "$job_log" "$BE_TMP/faults.log"
    else
        touch "$job_stop"
        be_reap "$job" 60 || rc=$?
        be_verdict "$name" "$rc" 60 "$job_log" "$BE_TMP/faults.log"
        echo "# $(grep verified "$job_log")"
        return
    fi
    job_end
}

# What it is that is survived: one fault, and then nothing but the job's end is asked for.
perish() {
    local name="$1 does not survive one" rc=0
    if ! job "UCX_TLS=$1"; then
        be_fail "$name: the job does not start" "$job_log"
        job_end
        return
    fi
    be_bounded 20 "$tool" fault qp-error "pid=${pids[1]}" >"$BE_TMP/faults.log" 2>&1 || rc=$?
    touch "$job_stop"
    be_reap "$job" 30 || rc=$?
    if [ "$rc" = 0 ]; then
        be_fail "$name: it did, so this test shows nothing" "$job_log" "$BE_TMP/faults.log"
    else
        be_pass "$name ($([ "$rc" = 124 ] && echo "it hangs" || echo "it ends with status $rc"))"
    fi
}

under=("$BE_RUN")
survive qp-error
survive qp-error UCX_BE_MUX=process
# Short enough for a fault to outlast.
survive "link-down for=5ms" UCX_BE_TIMEOUT=100us UCX_BE_RETRY_COUNT=2
# Longer than a fault is waited for: data goes over TCP meanwhile.
survive "link-down for=100ms" UCX_BE_TIMEOUT=100us UCX_BE_RETRY_COUNT=2 UCX_BE_FALLBACK=tcp
if grep -q 'goes on over TCP' "$job_log"; then
    be_pass "data went over TCP meanwhile"
else
    be_fail "data went over TCP meanwhile" "$job_log"
fi
under=(env "LD_PRELOAD=${BE_MODULEDIR:-$BE_BUILDDIR/modules}/libsoftrdma.so")
perish rc_verbs,ud_verbs,self
be_finish
