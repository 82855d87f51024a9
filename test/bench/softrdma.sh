#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The software device beside what the machine gives without it, in turns: send latency beside a ping-pong
# in shared memory, write bandwidth beside process_vm_writev, and both on one processor. Prints medians,
# and median and spread of the ratios of the rounds.
#   softrdma.sh [--rounds N] [--json FILE]      default 9 rounds
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

rounds=9 json=
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=${2:?--rounds takes a number}; shift 2 ;;
        --json) json=${2:?--json takes a file}; shift 2 ;;
        *) echo "softrdma.sh: unknown argument '$1'" >&2; exit 2 ;;
    esac
done
export BE_TEST_TLS=none # no UCX here
export SOFTRDMA_DOMAIN=bench-$$ SOFTRDMA_ONLY=yes
be_start softrdma
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need ib_send_lat perftest
be_need taskset util-linux
library=${BE_MODULEDIR:-$BE_BUILDDIR/modules}/libsoftrdma.so
bare=$BE_BUILDDIR/test/bench/bare

# device COLUMN SERVER-PROCESSOR COMMAND...: a number of the line that a perftest client, on processor 0,
# prints.
device() {
    local column=$1 processor=$2 rc=0
    shift 2
    be_server 20 "$BE_TMP/server.log" taskset -c "$processor" env "LD_PRELOAD=$library" "$@" || return 1
    # shellcheck disable=SC2154 # be_server sets be_port and be_pid
    be_bounded 60 taskset -c 0 env "LD_PRELOAD=$library" "$@" -p "$be_port" localhost \
        >"$BE_TMP/client.log" 2>&1 </dev/null || rc=1
    be_reap "$be_pid" 20 || rc=1
    [ "$rc" = 0 ] && awk -v column="$column" '$1 ~ /^[0-9]+$/ && NF >= column { print $column; found = 1; exit }
        END { exit !found }' "$BE_TMP/client.log"
}

# measure NAME LIMIT ARGUMENT-OF-device... -- BARE-COMMAND...: `rounds` pairs. LIMIT: what is wanted of the
# ratio.
results=()
measure() {
    local name=$1 limit=$2 round a b of_device=()
    shift 2
    while [ "$1" != -- ]; do
        of_device+=("$1")
        shift
    done
    shift
    : >"$BE_TMP/pairs"
    for ((round = 0; round < rounds; round++)); do
        if ! a=$(device "${of_device[@]}") || ! b=$(be_bounded 60 "$@"); then
            be_fail "$name" "$BE_TMP/server.log" "$BE_TMP/client.log"
            return
        fi
        echo "$a $b" >>"$BE_TMP/pairs"
    done
    be_pass "$name measured $rounds times"
    results+=("$name|$limit|$(awk '{ print $1 }' "$BE_TMP/pairs" | sort -g | tr '\n' ' ')|$(
        awk '{ print $2 }' "$BE_TMP/pairs" | sort -g | tr '\n' ' ')|$(
        awk '{ print $1 / $2 }' "$BE_TMP/pairs" | sort -g | tr '\n' ' ')")
}

last=$(($(nproc) - 1))
measure "send latency 8 B (us)" "at most 1.6" \
    5 "$last" ib_send_lat -s 8 -n 50000 -- "$bare" pingpong 200000
measure "write bandwidth 1 MiB (MiB/s)" "at least 0.9" \
    4 "$last" ib_write_bw -s 1048576 -n 5000 -- "$bare" writev 1048576 5000
measure "send latency on one processor (us)" "at most 3" \
    5 0 ib_send_lat -s 8 -n 20000 -- taskset -c 0 "$bare" pingpong 20000 yield

printf '%s\n' "${results[@]}" | awk -F'|' -v rounds="$rounds" -v json="$json" '
    function median(text,   n, v) { n = split(text, v, " "); return v[int((n + 1) / 2)] }
    function least(text,   v) { split(text, v, " "); return v[1] }
    function most(text,   n, v) { n = split(text, v, " "); return v[n] }
    BEGIN { printf "\n%-36s %10s %10s   %s\n", "test", "softrdma", "bare", "ratio: median (least to most), wanted" }
    NF == 5 {
        printf "%-36s %10.2f %10.2f   %.3f (%.3f to %.3f), %s\n", $1, median($3), median($4), median($5),
            least($5), most($5), $2
        out = out sprintf("%s\n    {\"test\": \"%s\", \"wanted\": \"%s\", \"softrdma\": %s, \"bare\": %s, " \
            "\"ratio\": %.4f, \"ratio_least\": %.4f, \"ratio_most\": %.4f}", (out ? "," : ""), $1, $2,
            median($3), median($4), median($5), least($5), most($5))
    }
    END {
        if (json)
            printf "{\"schema_version\": 1, \"rounds\": %d, \"results\": [%s\n]}\n", rounds, out >json
    }'
be_finish
