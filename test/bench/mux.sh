#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Eight workers of one process and four peers, with queue pairs of their own (UCX_BE_MUX=iface) and with common ones
# (process), in turns: bulk of all workers, and the latency of one worker's 64 bytes, alone and beside the bulk of
# the seven others; then beside a peer that keeps what it gets, makes no progress for a while and goes on. be_mux.cpp
# says what is done, and fails on wrong content.
#   mux.sh [--rounds N] [--seconds S] [--drive turns|threads|both] [--network fast|line|both] [--stop S]
# default: 5 rounds, 0.5 s for each phase, both, both, 1 s
#
# fast: the software device as it is. It has no line that could be busy: bulk takes processor time, and whoever
# waits waits for a processor; rc_verbs on the same device, whose workers share nothing, shows how long. The device
# copies in the thread that posts, which holds the lock of what workers share: of several threads one copies at a time.
# line: ports of 1 Gb/s, 200 us from port to switch, byte credit. That is a network of 100 Gb/s in slow motion:
# packets, buffers and windows in flight are the same, but hardly any processor time is.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

rounds=5 seconds=0.5 drives="turns threads" networks="line fast" stop=1
while [ $# -gt 0 ]; do
    value=${2:?"mux.sh: $1 takes a value"}
    case $1 in
        --rounds) rounds=$value ;;
        --seconds) seconds=$value ;;
        --stop) stop=$value ;;
        --drive) [ "$value" = both ] || drives=$value ;;
        --network) [ "$value" = both ] || networks=$value ;;
        *) echo "mux.sh: unknown argument '$1'" >&2; exit 2 ;;
    esac
    shift 2
done
BE_TEST_TLS=be,self
be_start mux
export SOFTRDMA_DOMAIN=mux-$$ SOFTRDMA_ONLY=yes
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
program=$BE_BUILDDIR/test/bench/be_mux
info=$BE_BUILDDIR/src/tools/be_info
library=${BE_MODULEDIR:-$BE_BUILDDIR/modules}/libsoftrdma.so
# Interfaces that share a fabric tell of the same queue pairs.
# shellcheck disable=SC2016 # for the shell of be_mux
count_queue_pairs="'$info' --stats \$BE_MUX_PID | awk '
    \$1 == \"members\" { members = \$2 } \$1 == \"queue_pairs\" { sum += members > 1 ? \$2 / members : \$2 }
    END { print \"queue_pairs\", sum }'"
# shellcheck disable=SC2016
count_memory="'$info' --stats \$BE_MUX_SLOW_PID | awk '
    \$1 == \"receive_buffers\" || \$1 == \"memory_registered\" || \$1 == \"rnr\" { print }'"

# once SCOPE NETWORK MODE DRIVE SIZE SECONDS COMMAND: lines "NAME VALUE" in $BE_TMP/out.
once() {
    local scope=$1 network=$2 rc=0 under
    shift 2
    if [ "$scope" = rc_verbs ]; then
        under=(env "UCX_TLS=rc_verbs,ud_verbs,self" "LD_PRELOAD=$library")
    else
        under=(env "UCX_TLS=be,self" UCX_BE_SOFT=yes "UCX_BE_MUX=$scope" UCX_BE_RX_QUEUE_LEN=512 UCX_BE_RX_MAX=1024)
        [ "$network" = fast ] || under+=("SOFTRDMA_FABRIC=rate=1G,delay=200us" UCX_BE_BYTE_CREDIT=yes
            UCX_BE_LINK_RATE=125000000 UCX_BE_WINDOW=1m UCX_BE_CHUNK=64k)
        under+=("$BE_RUN")
    fi
    be_bounded 60 "${under[@]}" "$program" "$@" >"$BE_TMP/out" 2>"$BE_TMP/error" </dev/null || rc=$?
    [ "$rc" = 0 ] || be_fail "be_mux $* over $scope, $network (exit status $rc)" "$BE_TMP/error" "$BE_TMP/out"
    return "$rc"
}

# measure NETWORK MODE DRIVE SIZE SECONDS: rounds of the scopes in turn, into $BE_TMP/results, lines
# "NETWORK MODE DRIVE NAME SCOPE ROUND VALUE".
measure() {
    local network=$1 mode=$2 drive=$3 round scope order command
    local scopes="iface process"
    [ "$network" = line ] || [ "$mode" = slow ] || scopes+=" rc_verbs"
    for ((round = 0; round < rounds; round++)); do
        order=$scopes
        # Nobody comes first always.
        [ $((round % 2)) = 0 ] || order=$(tr ' ' '\n' <<<"$scopes" | tac)
        for scope in $order; do
            command=$count_queue_pairs
            [ "$mode" != slow ] || command+="; $count_memory"
            [ "$scope" != rc_verbs ] || command=
            once "$scope" "$network" "${@:2}" "$command" || return
            awk -v where="$network $mode $drive" -v scope="$scope" -v round="$round" \
                'NF >= 2 { print where, $1, scope, round, $2 }' "$BE_TMP/out" >>"$BE_TMP/results"
        done
    done
    be_pass "$mode of $4 bytes, $drive, $network: measured $rounds times"
}

for network in $networks; do
    for drive in $drives; do
        measure "$network" put "$drive" 65536 "$seconds"
        measure "$network" am "$drive" 8000 "$seconds"
        measure "$network" slow "$drive" 4096 "$stop"
    done
done

echo "# line: a network in slow motion; fast: the device alone, where bulk costs its processor (see mux.sh)"
echo "# turns: one thread takes all workers in turn; threads: one each, asleep when idle; $(nproc) processors"
touch "$BE_TMP/results"
awk -v networks="$networks" -v drives="$drives" '
    { value[$1, $2, $3, $4, $5, $6] = $7; if ($6 + 1 > rounds) rounds = $6 + 1 }
    # Of the rounds of `name`, divided by those of `by` or, if `by` is empty, as they are; sets least and most.
    function median(where, name, scope, by, by_scope,   n, i, j, v, t) {
        n = 0
        for (i = 0; i < rounds; i++) {
            if (!((where, name, scope, i) in value)) continue
            t = value[where, name, scope, i]
            if (by != "") {
                if (!((where, by, by_scope, i) in value) || value[where, by, by_scope, i] == 0) continue
                t /= value[where, by, by_scope, i]
            }
            for (j = n++; j > 0 && v[j - 1] > t; j--) v[j] = v[j - 1]
            v[j] = t
        }
        if (n == 0) return ""
        least = v[0]; most = v[n - 1]
        return v[int(n / 2)]
    }
    function show(x) { return x == "" ? "-" : sprintf(x >= 100 ? "%.0f" : "%.2f", x) }
    function row(what, name, asked,   m, text) {
        m = median(where, name, "process", name, "iface")
        text = m == "" ? "-" : sprintf("%.3f (%.3f to %.3f)", m, least, most)
        printf "%-44s %9s %9s %9s   %-25s %s\n", what, show(median(where, name, "iface")),
            show(median(where, name, "process")), show(median(where, name, "rc_verbs")), text, asked
    }
    function times(what, name, by, asked,   m, text, iface, verbs) {
        iface = show(median(where, name, "iface", by, "iface"))
        verbs = show(median(where, name, "rc_verbs", by, "rc_verbs"))
        m = median(where, name, "process", by, "process")
        text = m == "" ? "-" : sprintf("%.3f to %.3f", least, most)
        printf "%-44s %9s %9s %9s   %-25s %s\n", what, iface, show(m), verbs, text, asked
    }
    END {
        count = split(networks, network, " "); kinds = split(drives, drive, " ")
        for (n = 1; n <= count; n++) for (d = 1; d <= kinds; d++) {
            printf "\n%-44s %9s %9s %9s   %-25s %s\n", network[n] ", " drive[d] ": medians of " rounds, "iface", "process",
                "rc_verbs", "process / iface, or spread", "asked of process"
            SUB = SUBSEP
            where = network[n] SUB "put" SUB drive[d]
            row("queue pairs of the process", "queue_pairs", "8, iface 64")
            row("puts of 64 KiB, 8 workers (MB/s)", "streamed", "0.9 iface or more")
            row("64 B alone (us)", "idle_median", "")
            row("64 B alone, P99 (us)", "idle_p99", "")
            row("64 B beside puts of 7 workers (us)", "beside_median", "")
            times("  / alone", "beside_median", "idle_median", "3 or less")
            times("  P99 / alone", "beside_p99", "idle_median", "")
            row("  their puts (MB/s)", "streamed_beside", "")
            where = network[n] SUB "am" SUB drive[d]
            row("messages of 8000 B, 8 workers (MB/s)", "streamed", "0.9 iface or more")
            times("64 B beside messages of 7 workers / alone", "beside_median", "idle_median", "")
            where = network[n] SUB "slow" SUB drive[d]
            times("64 B beside a peer that has stopped / alone", "beside_median", "idle_median", "1.5 or less")
            times("  P99 / P99 alone", "beside_p99", "idle_p99", "")
            row("  its receive buffers", "receive_buffers", "1024 or less")
            row("  its registered bytes", "memory_registered", "")
            row("  kept by it", "kept", "")
            row("  copied out, as no buffer was left", "copied", "")
            row("  messages without a receive", "rnr", "0")
        }
    }' "$BE_TMP/results"
be_finish
