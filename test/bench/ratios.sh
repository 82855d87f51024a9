#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be beside UCX's rc_verbs, both on the software device, and beside tcp: ucx_perftest in turns, so that
# whatever else the machine does hits all alike. Prints medians, and the median and spread of the ratios
# be ÷ other of the rounds. am_lat is UCT's, beside ib_send_lat: what the verbs alone take. Then be beside be
# that does not recover (UCX_BE_RECOVERY=n): what it costs to be ready for a failure.
#   ratios.sh [--rounds N] [--json FILE] [--recovery]
# default: 7 rounds; --recovery: the last comparison only
# Times compare only within one run.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

rounds=7 recovery_only=no json=
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=${2:?--rounds takes a number}; shift 2 ;;
        --json) json=${2:?--json takes a file}; shift 2 ;;
        --recovery) recovery_only=yes; shift ;;
        *) echo "ratios.sh: unknown argument '$1'" >&2; exit 2 ;;
    esac
done
BE_TEST_TLS=be,self
be_start ratios
be_need ucx_perftest ucx-utils
modules=${BE_MODULEDIR:-$BE_BUILDDIR/modules}

# What each transport is run under.
under() {
    case $1 in
        be) PERF_CLIENT=(env "UCX_TLS=be,self" UCX_BE_SOFT=yes "$BE_RUN") ;;
        no_recovery) PERF_CLIENT=(env "UCX_TLS=be,self" UCX_BE_SOFT=yes UCX_BE_RECOVERY=n "$BE_RUN") ;;
        rc_verbs) PERF_CLIENT=(env "UCX_TLS=rc_verbs,ud_verbs,self" "LD_PRELOAD=$modules/libsoftrdma.so") ;;
        tcp) PERF_CLIENT=(env "UCX_TLS=tcp,self" UCX_NET_DEVICES=lo) ;;
    esac
    PERF_SERVER=("${PERF_CLIENT[@]}")
}

# once TRANSPORT COLUMN TEST-ARGUMENTS...: its value, in $value.
once() {
    local tls=$1 column=$2
    shift 2
    under "$tls"
    perf_pair 120 -f "$@" || return 1
    value=$(perf_value "$column")
}

# The same through UCT, where transports and devices are named; verbs: without any UCX.
once_uct() {
    local tls=$1 column=$2
    shift 2
    case $tls in
        be) once be "$column" -x be -d lo "$@" ;;
        rc_verbs) once rc_verbs "$column" -x rc_verbs -d softrdma0:1 "$@" ;;
        verbs) send_latency ;;
    esac
}

send_latency() {
    local rc=0 preload=(env "LD_PRELOAD=$modules/libsoftrdma.so")
    be_server 20 "$BE_TMP/server.log" "${preload[@]}" ib_send_lat -s 8 -n 20000 || return 1
    # shellcheck disable=SC2154 # be_server sets be_port and be_pid
    be_bounded 60 "${preload[@]}" ib_send_lat -s 8 -n 20000 -p "$be_port" localhost >"$BE_TMP/client.log" 2>&1 \
        </dev/null || rc=1
    be_reap "$be_pid" 20 || rc=1
    value=$(awk '$1 ~ /^[0-9]+$/ && NF >= 6 { print $6; exit }' "$BE_TMP/client.log") # the average, as UCX's
    [ "$rc" = 0 ] && [ -n "$value" ]
}

# measure NAME COLUMN BETTER TEST-ARGUMENTS...: rounds of all transports in turn.
results=() transports=(be rc_verbs tcp) layer=ucp value=
measure() {
    local name=$1 column=$2 better=$3 round tls order
    shift 3
    for tls in "${transports[@]}"; do : >"$BE_TMP/$tls.values"; done
    for ((round = 0; round < rounds; round++)); do
        order="${transports[*]}"
        # Nobody comes first always.
        [ $((round % 2)) = 0 ] || order=$(tr ' ' '\n' <<<"$order" | tac)
        for tls in $order; do
            if [ "$layer" = ucp ]; then once "$tls" "$column" "$@"; else once_uct "$tls" "$column" "$@"; fi || {
                be_fail "$name over $tls" "$BE_TMP/server.log" "$BE_TMP/client.log"
                return
            }
            echo "$value" >>"$BE_TMP/$tls.values"
        done
    done
    be_pass "$name measured $rounds times"
    for tls in "${transports[@]}"; do
        results+=("$name|$better|$tls|$(sort -g "$BE_TMP/$tls.values" | tr '\n' ' ')|$(paste \
            "$BE_TMP/be.values" "$BE_TMP/$tls.values" | awk '{ print $1 / $2 }' | sort -g | tr '\n' ' ')")
    done
}

beside_others() {
    measure "tag_lat 8 B (us)" 4 lower -t tag_lat -s 8 -n 20000
    measure "tag_bw 64 KiB (MB/s)" 6 higher -t tag_bw -s 65536 -n 5000
    measure "tag_bw 1 MiB (MB/s)" 6 higher -t tag_bw -s 1048576 -n 500
    measure "put_lat 8 B (us)" 4 lower -t ucp_put_lat -s 8 -n 20000
    measure "get 64 KiB (MB/s)" 6 higher -t ucp_get -s 65536 -n 2000
    measure "8 B, 64 at once (msg/s)" 8 higher -t tag_bw -s 8 -O 64 -n 200000
    layer=uct transports=(be rc_verbs)
    if command -v ib_send_lat >/dev/null; then
        transports+=(verbs)
    else
        be_skip "am_lat beside verbs alone" "ib_send_lat is missing (Debian package perftest)"
    fi
    measure "am_lat 8 B (us)" 4 lower -t am_lat -D short -s 8 -n 20000
}

[ "$recovery_only" = yes ] || beside_others
layer=ucp transports=(be no_recovery)
measure "tag_lat 8 B (us)" 4 lower -t tag_lat -s 8 -n 20000
measure "tag_bw 64 KiB (MB/s)" 6 higher -t tag_bw -s 65536 -n 5000

printf '%s\n' "${results[@]}" | awk -F'|' -v rounds="$rounds" -v json="$json" '
    function median(text,   n, v) { n = split(text, v, " "); return v[int((n + 1) / 2)] }
    function least(text,   v) { split(text, v, " "); return v[1] }
    function most(text,   n, v) { n = split(text, v, " "); return v[n] }
    BEGIN {
        printf "\n%-22s %-11s %10s %10s %10s   %s\n", "test (software device)", "transport", "median", "least",
            "most", "be / it: median (least to most)"
    }
    {
        ratio = median($5)
        printf "%-22s %-11s %10.2f %10.2f %10.2f", $1, $3, median($4), least($4), most($4)
        if ($3 == "be") printf "\n"
        else printf "   %.3f (%.3f to %.3f), %s is better\n", ratio, least($5), most($5), $2
        if (json)
            out = out sprintf("%s\n    {\"test\": \"%s\", \"transport\": \"%s\", \"better\": \"%s\", \"median\": %s, " \
                "\"least\": %s, \"most\": %s, \"be_ratio\": %.4f, \"be_ratio_least\": %.4f, \"be_ratio_most\": %.4f}",
                (out ? "," : ""), $1, $3, $2, median($4), least($4), most($4), ratio, least($5), most($5))
    }
    END {
        if (json)
            printf "{\"schema_version\": 1, \"device\": \"software\", \"rounds\": %d, \"results\": [%s\n]}\n", rounds, out >json
    }'
be_finish
