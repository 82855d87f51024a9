#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# In steady state no memory is registered: ucx_perftest with few iterations and with ten times as many calls
# ibv_reg_mr equally often, on both sides. (be_perf, for the adapter: test/tools/perf.sh.)
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

BE_TEST_TLS=be
be_start steady
be_need ucx_perftest ucx-utils
export UCX_BE_SOFT=yes UCX_BE_STATS=$BE_TMP/stats # where the counters of processes that have ended stay
mkdir -m 700 "$UCX_BE_STATS"

# registrations: of both processes, one number each; nothing for one that left no counters.
registrations() {
    local process
    find "$UCX_BE_STATS" -name '*.stats' -printf '%f\n' | sed 's/-.*//' | sort -u | while read -r process; do
        "$BE_BUILDDIR/src/tools/be_info" --stats "$process" |
            awk '$1 == "registrations" { sum += $2; found = 1 } END { if (found) print sum }'
    done
}

# once ITERATIONS ARGUMENTS...: $counted becomes both numbers, the smaller first.
once() {
    local n=$1 rc=0
    shift
    rm -f "$UCX_BE_STATS"/*
    perf_pair 90 -n "$n" -w 100 -f "$@" || rc=$?
    counted=$(registrations | sort -n | paste -sd ' ')
    [ "$rc" = 0 ] && perf_complete "$n" && [[ $counted =~ ^[1-9][0-9]*\ [1-9][0-9]*$ ]]
}

# steady NAME ARGUMENTS...
steady() {
    local name=$1 few
    shift
    if ! once 500 "$@"; then
        be_fail "$name: 500 iterations, registrations '$counted'" "$BE_TMP/server.log" "$BE_TMP/client.log"
        return
    fi
    few=$counted
    if once 2500 "$@" && [ "$counted" = "$few" ]; then
        be_pass "$name registers nothing in 2000 more iterations (the two processes: $counted)"
    else
        be_fail "$name: registrations are '$counted' after 2500 iterations, '$few' after 500" \
            "$BE_TMP/server.log" "$BE_TMP/client.log"
    fi
}

counted=
for size in 8 4096 65536 1048576; do
    for test in tag_bw ucp_put_bw ucp_get ucp_am_bw; do
        steady "$test $size B" -t "$test" -s "$size"
    done
done
steady "tag_bw 65536 B, 32 at once" -t tag_bw -s 65536 -O 32
be_finish
