#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What run.sh runs in the guest besides guest.sh: queue pairs that fail on a kernel's verbs. The engine's own test
# moves them to the error state; under a job of two processes the link between the devices goes down, or loses
# everything, for 300 ms at a time. All content is checked.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=test/lib/harness.sh
. "$here/../lib/harness.sh"
# shellcheck source=test/mpi/job.sh
. "$here/../mpi/job.sh"

be_start rxe-recovery

# Few, since the guest is slow; every kind of queue there is.
be_case "queue pairs fail under two fabrics" 300 env BE_TEST_DEVICE=rxe0 BE_TEST_FAULTS=20 \
    "$BE_BUILDDIR/test/engine/recovery_test" --color_output=no --report_level=short

# fault down|loss: for 300 ms.
fault() {
    if [ "$1" = down ]; then ip link set veth1 down; else tc qdisc add dev veth0 root netem loss 100%; fi
    sleep 0.3 # so long is the fault
    if [ "$1" = down ]; then ip link set veth1 up; else tc qdisc del dev veth0 root; fi
    # A link that was down has lost its routes.
    "$RXE_VM_NET"
}

# One rank on each device. Queue pairs give up well within a fault.
job_on_both() {
    job_start env "UCX_TLS=$BE_TEST_TLS" UCX_BE_TIMEOUT=16ms UCX_BE_RETRY_COUNT=3 UCX_LOG_LEVEL=info "$BE_RUN" \
        mpirun --oversubscribe -np 2 bash -c "UCX_NET_DEVICES=veth\$OMPI_COMM_WORLD_LOCAL_RANK exec \"\$@\"" rank \
        "$job_program"
}

# survive NAME down|loss: five faults, each when two rounds more are over since the one before.
survive() {
    local name=$1 kind=$2 rc=0 faults=0 recoveries
    job_on_both
    while [ "$faults" -lt 5 ] && after $(($(over) + 2)) 100; do
        fault "$kind"
        faults=$((faults + 1))
    done
    after $(($(over) + 2)) 100 && touch "$job_stop"
    be_reap "$job" 60 || rc=$?
    recoveries=$(grep -c 'recovered after' "$job_log")
    echo "# $name: $faults faults, $recoveries recoveries, $(over) rounds"
    if [ "$rc" = 0 ] && [ "$recoveries" = 0 ]; then
        be_fail "$name: nothing had to recover" "$job_log"
    else
        be_verdict "$name" "$rc" 60 "$job_log"
    fi
}

survive "the link goes down for 300 ms at a time" down
survive "everything is lost for 300 ms at a time" loss
be_finish
