# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# ucx_perftest between two processes on this host. Sourced after harness.sh.
#
#   perf_pair SECONDS ARGUMENTS...   runs a server and a client with those arguments;
#                                    logs: $BE_TMP/{server,client}.log; status in $?
#   perf_value COLUMN                a number of the client's final line (see below)
#
# Variables: PERF_SERVER, PERF_CLIENT (arrays: what each side is run under, default
# BE_PREFIX), PERF_HOST (where the client finds the server, default 127.0.0.1).

# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"

# shellcheck disable=SC2034 # callers set them
PERF_SERVER=()
PERF_CLIENT=()
PERF_HOST=${PERF_HOST:-127.0.0.1}

# perf_server SECONDS: starts a server on a free port: $be_pid, $be_port.
perf_server() {
    be_server "$1" "$BE_TMP/server.log" "${PERF_SERVER[@]}" ucx_perftest
}

perf_pair() {
    local limit=$1 rc=0 server_rc=0
    shift
    [ "${#PERF_SERVER[@]}" != 0 ] || PERF_SERVER=("${BE_PREFIX[@]}")
    [ "${#PERF_CLIENT[@]}" != 0 ] || PERF_CLIENT=("${BE_PREFIX[@]}")
    : >"$BE_TMP/client.log"
    perf_server 20 || return 3
    be_bounded "$limit" "${PERF_CLIENT[@]}" ucx_perftest "$PERF_HOST" -p "$be_port" \
        "$@" >"$BE_TMP/client.log" 2>&1 </dev/null || rc=$?
    # A server whose client failed may wait for ever.
    [ "$rc" = 0 ] || kill "$be_pid" 2>/dev/null
    be_reap "$be_pid" 15 || server_rc=$?
    [ "$rc" != 0 ] || rc=$server_rc
    return "$rc"
}

# perf_complete ITERATIONS: the client's final line says that all of them were done.
# (With -f, the line starts with blanks and the count; -v separates by commas.)
perf_complete() {
    perf_fields | awk -v n="$1" '$1 == n { found = 1 } END { exit !found }'
}

perf_fields() {
    tr ',' ' ' <"$BE_TMP/client.log" | sed 's/^ *Final: *//' |
        awk 'NF >= 4 && $1 ~ /^[0-9]+$/ { line = $0 } END { print line }'
}

# perf_value COLUMN: 1 iterations, 2 percentile, 3 moving and 4 overall latency (us),
# 5 and 6 bandwidth (MB/s), 7 and 8 messages a second.
perf_value() {
    perf_fields | awk -v column="$1" '{ print $column }'
}

# perf_noise: lines that UCX or the transport logged at warning level or above.
perf_noise() {
    grep -hE 'UCX +(WARN|ERROR|FATAL)|libuct_be:|libbe_preload:|Assertion|Backtrace' \
        "$BE_TMP/server.log" "$BE_TMP/client.log"
}
