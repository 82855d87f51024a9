#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Data over the side channel (UCX_BE_FALLBACK=tcp, link down) beside UCX's tcp: ucx_perftest in turns. Prints medians, and
# the median and spread of the ratios of the rounds.
#   fallback.sh [--rounds N]
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

rounds=5
if [ $# != 0 ]; then
    [ "$1" = --rounds ] || { echo "fallback.sh: unknown argument '$1'" >&2; exit 2; }
    rounds=${2:?--rounds takes a number}
fi
BE_TEST_TLS=be,self
be_start fallback
be_need ucx_perftest ucx-utils
export SOFTRDMA_DOMAIN=fallback-$$
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
reports=4 # of a second each; the first one is left out

# await SECONDS COMMAND...
await() {
    local tries limit=$1
    shift
    for ((tries = 0; tries < limit * 20; tries++)); do
        ! "$@" || return 0
        kill -0 "$client" 2>/dev/null || return 1
        sleep 0.05 # between two looks at the condition; nothing depends on its length
    done
    return 1
}

# Bandwidths of the reports since the fallback, or since the start.
bandwidths() {
    awk -v after="$1" '
        /goes on over TCP/ { after = "" }
        /^\[thread/ && after == "" { print $7 }' "$BE_TMP/client.log"
}

# shellcheck disable=SC2317 # await calls it
reported() {
    [ "$(bandwidths "$1" | wc -l)" -ge "$2" ]
}

# shellcheck disable=SC2317 # await calls it
fell() {
    grep -q 'goes on over TCP' "$BE_TMP/client.log"
}

# once TRANSPORT SIZE: the median bandwidth, in $value.
once() {
    local rc=0 after=
    case $1 in
        be)
            after=fallback
            PERF_SERVER=(env "UCX_TLS=be,self" UCX_BE_SOFT=yes UCX_BE_FALLBACK=tcp UCX_BE_TIMEOUT=1ms
                UCX_BE_RETRY_COUNT=2 "$BE_RUN")
            ;;
        tcp) PERF_SERVER=(env "UCX_TLS=tcp,self" UCX_NET_DEVICES=lo) ;;
    esac
    : >"$BE_TMP/client.log"
    perf_server 20 || return 1
    # shellcheck disable=SC2154 # be_server sets be_port and be_pid
    local server=$be_pid
    be_spawn "${PERF_SERVER[@]}" ucx_perftest "$PERF_HOST" -p "$be_port" -t tag_bw -s "$2" -n 1000000000 \
        >"$BE_TMP/client.log" 2>&1
    client=$be_pid
    if [ "$1" = be ]; then
        await 30 reported "" 1 && "$BE_BUILDDIR/src/softrdma/softrdma" fault link-down >/dev/null &&
            await 30 fell || rc=1
    fi
    [ "$rc" = 0 ] && await 60 reported "$after" "$reports" || rc=1
    value=$(bandwidths "$after" | tail -n +2 | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
    kill "$client" "$server" 2>/dev/null
    { be_reap "$client" 10; be_reap "$server" 10; } 2>/dev/null # who survives the other by an instant aborts
    return "$rc"
}

client='' value='' results=()
measure() {
    local name=$1 size=$2 round tls order
    : >"$BE_TMP/be.values" && : >"$BE_TMP/tcp.values"
    for ((round = 0; round < rounds; round++)); do
        order='be tcp'
        [ $((round % 2)) = 0 ] || order='tcp be' # nobody comes first always
        for tls in $order; do
            once "$tls" "$size" || {
                be_fail "$name over $tls" "$BE_TMP/server.log" "$BE_TMP/client.log"
                return
            }
            echo "$value" >>"$BE_TMP/$tls.values"
        done
    done
    be_pass "$name measured $rounds times"
    results+=("$name|$(sort -g "$BE_TMP/be.values" | tr '\n' ' ')|$(sort -g "$BE_TMP/tcp.values" | tr '\n' ' ')|$(
        paste "$BE_TMP/be.values" "$BE_TMP/tcp.values" | awk '{ print $1 / $2 }' | sort -g | tr '\n' ' ')")
}

measure "tag_bw 64 KiB (MB/s)" 65536
measure "tag_bw 1 MiB (MB/s)" 1048576

printf '%s\n' "${results[@]}" | awk -F'|' '
    function median(text,   n, v) { n = split(text, v, " "); return v[int((n + 1) / 2)] }
    function least(text,   v) { split(text, v, " "); return v[1] }
    function most(text,   n, v) { n = split(text, v, " "); return v[n] }
    NF { printf "# %-22s over the side channel %9.2f, UCX tcp %9.2f, ratio %.2f (%.2f to %.2f)\n", $1, median($2),
        median($3), median($4), least($4), most($4) }'
be_finish
