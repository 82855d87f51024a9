#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What test/rxe/run.sh runs in the guest: two processes, one on each device, so that every
# packet crosses the veth pair.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=test/lib/harness.sh
. "$here/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$here/../lib/perftest.sh"

be_start rxe-guest
PERF_HOST=10.77.0.1
PERF_SERVER=(env "UCX_TLS=$BE_TEST_TLS" UCX_NET_DEVICES=veth0 "$BE_RUN")
PERF_CLIENT=(env "UCX_TLS=$BE_TEST_TLS" UCX_NET_DEVICES=veth1 "$BE_RUN")

pair() {
    local name=$1 iterations=$2 rc=0
    shift 2
    perf_pair 150 -f -n "$iterations" -w 10 "$@" || rc=$?
    if [ "$rc" = 0 ] && ! perf_complete "$iterations"; then
        rc=1
    fi
    if [ "$rc" = 0 ] && [ -n "$(perf_noise)" ]; then
        be_fail "$name (warnings)" "$BE_TMP/server.log" "$BE_TMP/client.log"
        return
    fi
    be_verdict "$name" "$rc" 150 "$BE_TMP/server.log" "$BE_TMP/client.log"
}

# The content of every kind of transfer: it starts its two processes itself, one on each device.
verify() {
    local program=$BE_BUILDDIR/test/perftest/be_ucp_verify rc=0
    be_bounded 300 env "UCX_TLS=$BE_TEST_TLS" "$BE_RUN" "$program" --devices veth0,veth1 \
        --max-size 300000 >"$BE_TMP/verify.log" 2>&1 || rc=$?
    grep -E '^(ok|FAIL|skip) ' "$BE_TMP/verify.log"
    be_totals "$BE_TMP/verify.log" || be_fail "be_ucp_verify (exit status $rc)" "$BE_TMP/verify.log"
}

ring() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    be_case "MPI ring over both devices" 200 "${BE_PREFIX[@]}" mpirun --oversubscribe -np 2 \
        bash -c "UCX_NET_DEVICES=veth\$OMPI_COMM_WORLD_LOCAL_RANK exec '$BE_BUILDDIR/test/mpi/be_mpi_ring'"
}

# Receiver-not-ready, seen by either device, over the whole run.
no_rnr() {
    local file total=0
    for file in /sys/class/infiniband/rxe[01]/ports/1/hw_counters/*rnr*; do
        total=$((total + $(cat "$file")))
    done
    if [ "$total" = 0 ]; then
        be_pass "no receiver-not-ready on either device"
    else
        be_fail "receiver-not-ready: $total"
    fi
}

# The traffic was theirs: both devices sent packets by the thousand.
both_sent() {
    local device sent
    for device in rxe0 rxe1; do
        sent=$(cat "/sys/class/infiniband/$device/ports/1/hw_counters/sent_pkts")
        if [ "$sent" -ge 1000 ]; then
            be_pass "$device sent $sent packets"
        else
            be_fail "$device sent $sent packets only"
        fi
    done
}

pair "tag_lat 8 B" 500 -t tag_lat -s 8
pair "tag_lat 8 KiB + 1" 100 -t tag_lat -s 8193
pair "tag_bw 64 KiB" 60 -t tag_bw -s 65536
pair "tag_bw 1 MiB" 5 -t tag_bw -s 1048576
pair "put 64 KiB" 60 -t ucp_put_bw -s 65536
pair "get 64 KiB" 60 -t ucp_get -s 65536
pair "am 8 B, sleeping" 100 -t ucp_am_lat -s 8 -E sleep
verify
ring
both_sent
no_rnr
be_finish
