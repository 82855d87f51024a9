#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# relay.sh - the software device where the system does not let processes reach each other's memory: by
# configuration, and by a real seccomp filter. The semantics suite, a pingpong of each kind, perftest, and UCX
# on be. Part of `make check`.
#
# Exit status 77 when a program is not installed or filters cannot be set (a failure when CI=true).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

export SOFTRDMA_DOMAIN=relay-$$ SOFTRDMA_ONLY=yes
be_start relay
# shellcheck source=test/verbs/pair.sh
. "$(dirname "${BASH_SOURCE[0]}")/pair.sh"
for tool in ibv_rc_pingpong ib_write_bw ucx_perftest; do be_need "$tool"; done
suite=$BE_BUILDDIR/test/verbs/softrdma_test
without=$BE_BUILDDIR/test/verbs/without_cma
"$without" EPERM true || be_abort "seccomp filters cannot be set"

# What a filter changes is that the calls fail; the rest is the same as by configuration.
SOFTRDMA_CMA=off be_case "semantics, by configuration" 600 "$suite" --color_output=no \
    '--run_test=!fabric_model:!fabric_parse:!fault_parse'
for failure in EPERM ENOSYS; do
    be_case "semantics, $failure" 300 "$without" "$failure" "$suite" --color_output=no \
        '--run_test=remote/write*,atomics:message:datagram'
done

# The reason is said, once by each process that asked.
said_once() {
    local log lines
    for log in "$BE_TMP/client.log" "$BE_TMP/server.log"; do
        lines=$(grep -c 'no direct access.*seccomp' "$log")
        [ "$lines" = 1 ] || return 1
    done
}

soft=("$without" EPERM env "LD_PRELOAD=$library")
pair ibv_rc_pingpong -s 65536 -n 200
if said_once; then be_pass "the reason is said once"; else be_fail "the reason is said once" "$BE_TMP"/*.log; fi
for kind in uc srq; do pair "ibv_${kind}_pingpong" -s 65536 -n 200 -e; done
pair ibv_ud_pingpong -s 2048 -n 200
pair ib_send_bw -s 1000001 -n 50
pair ib_write_bw -s 65536 -n 100
pair ib_write_lat -s 8 -n 200
pair ib_read_bw -s 1048576 -n 50 -b
pair ib_atomic_bw -A FETCH_AND_ADD -n 200 -q 4

# UCX, with be on the device.
PERF_SERVER=("$without" EPERM "${BE_PREFIX[@]}")
PERF_CLIENT=("${PERF_SERVER[@]}")
for test in "tag_lat 8" "tag_bw 65536" "tag_bw 1048576" "ucp_put_lat 8" "ucp_put_bw 1048576" "ucp_get 65536"; do
    read -r name size <<<"$test"
    rc=0
    perf_pair 60 -t "$name" -s "$size" -n 200 -w 10 -f || rc=$?
    be_verdict "be $name $size B" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
done
be_finish
