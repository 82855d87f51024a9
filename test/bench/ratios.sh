#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be beside UCX's rc_verbs, both on the software device, and beside tcp: ucx_perftest in turns, so that
# whatever else the machine does hits all alike. Prints medians, and the median and spread of the ratios
# be ÷ other of the rounds.
#   ratios.sh [--rounds N] [--json FILE]      default 5 rounds
# Times compare only within one run.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

rounds=5 json=
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=${2:?--rounds takes a number}; shift 2 ;;
        --json) json=${2:?--json takes a file}; shift 2 ;;
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
        rc_verbs) PERF_CLIENT=(env "UCX_TLS=rc_verbs,ud_verbs,self" "LD_PRELOAD=$modules/libsoftrdma.so") ;;
        tcp) PERF_CLIENT=(env "UCX_TLS=tcp,self" UCX_NET_DEVICES=lo) ;;
    esac
    PERF_SERVER=("${PERF_CLIENT[@]}")
}

# measure NAME COLUMN BETTER TEST-ARGUMENTS...: rounds of all transports in turn.
results=()
measure() {
    local name=$1 column=$2 better=$3 round tls value
    shift 3
    for tls in be rc_verbs tcp; do : >"$BE_TMP/$tls.values"; done
    for ((round = 0; round < rounds; round++)); do
        for tls in be rc_verbs tcp; do
            under "$tls"
            if ! perf_pair 120 -f "$@"; then
                be_fail "$name over $tls" "$BE_TMP/server.log" "$BE_TMP/client.log"
                return
            fi
            value=$(perf_value "$column")
            echo "$value" >>"$BE_TMP/$tls.values"
        done
    done
    be_pass "$name measured $rounds times"
    for tls in be rc_verbs tcp; do
        results+=("$name|$better|$tls|$(sort -g "$BE_TMP/$tls.values" | tr '\n' ' ')|$(paste \
            "$BE_TMP/be.values" "$BE_TMP/$tls.values" | awk '{ print $1 / $2 }' | sort -g | tr '\n' ' ')")
    done
}

measure "tag_lat 8 B (us)" 4 lower -t tag_lat -s 8 -n 20000
measure "tag_bw 64 KiB (MB/s)" 6 higher -t tag_bw -s 65536 -n 5000
measure "tag_bw 1 MiB (MB/s)" 6 higher -t tag_bw -s 1048576 -n 500
measure "put_lat 8 B (us)" 4 lower -t ucp_put_lat -s 8 -n 20000
measure "get 64 KiB (MB/s)" 6 higher -t ucp_get -s 65536 -n 2000

printf '%s\n' "${results[@]}" | awk -F'|' -v rounds="$rounds" -v json="$json" '
    function median(text,   n, v) { n = split(text, v, " "); return v[int((n + 1) / 2)] }
    function least(text,   v) { split(text, v, " "); return v[1] }
    function most(text,   n, v) { n = split(text, v, " "); return v[n] }
    BEGIN {
        printf "\n%-22s %-9s %10s %10s %10s   %s\n", "test (software device)", "transport", "median", "least",
            "most", "be / it: median (least to most)"
    }
    {
        ratio = median($5)
        printf "%-22s %-9s %10.2f %10.2f %10.2f", $1, $3, median($4), least($4), most($4)
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
