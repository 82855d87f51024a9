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

# shellcheck disable=SC2034 # callers set them
PERF_SERVER=()
PERF_CLIENT=()
PERF_HOST=${PERF_HOST:-127.0.0.1}

# A port below the range that the kernel hands out by itself; somebody else may still
# take it, so callers retry with another when the server cannot bind.
perf_port() {
    local low _
    read -r low _ </proc/sys/net/ipv4/ip_local_port_range
    [ "$low" -gt 12000 ] || low=32768
    echo $((10000 + (RANDOM * 32768 + RANDOM) % (low - 10000)))
}

# perf_listening PID PORT: PID itself holds a listening socket of that port.
perf_listening() {
    local inode
    while read -r inode; do
        [ -z "$(find "/proc/$1/fd" -lname "socket:\[$inode\]" 2>/dev/null)" ] || return 0
    done < <(awk -v port=":$(printf %04X "$2")" \
        '$4 == "0A" && substr($2, length($2) - 4) == port { print $10 }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    return 1
}

# perf_server SECONDS: starts a server on a free port: $be_pid, $perf_port_used.
perf_server() {
    local attempt tries
    for attempt in 1 2 3 4 5 6 7 8; do
        perf_port_used=$(perf_port)
        be_spawn "${PERF_SERVER[@]}" ucx_perftest -p "$perf_port_used" \
            >"$BE_TMP/server.log" 2>&1
        for ((tries = 0; tries < $1 * 50; tries++)); do
            ! perf_listening "$be_pid" "$perf_port_used" || return 0
            kill -0 "$be_pid" 2>/dev/null || break
            sleep 0.02 # between two looks at the condition; nothing depends on its length
        done
        be_reap "$be_pid" 1
        grep -q 'in use' "$BE_TMP/server.log" || break
        echo "# attempt $attempt: port $perf_port_used was taken"
    done
    return 1
}

perf_pair() {
    local limit=$1 rc=0 server_rc=0
    shift
    [ "${#PERF_SERVER[@]}" != 0 ] || PERF_SERVER=("${BE_PREFIX[@]}")
    [ "${#PERF_CLIENT[@]}" != 0 ] || PERF_CLIENT=("${BE_PREFIX[@]}")
    : >"$BE_TMP/client.log"
    perf_server 20 || return 3
    be_bounded "$limit" "${PERF_CLIENT[@]}" ucx_perftest "$PERF_HOST" -p "$perf_port_used" \
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
