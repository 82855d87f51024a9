#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# pingpong.sh - unmodified verbs programs on the software device: ibv_devinfo, the ibv_*_pingpong programs,
# and, where installed, perftest. Part of `make check`.
#
# Exit status 77 when the programs are not installed (a failure when CI=true).
set -u -o pipefail

library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
export SOFTRDMA_DOMAIN=pingpong-$$ SOFTRDMA_ONLY=yes
work=$(mktemp -d "${TMPDIR:-/tmp}/pingpong.XXXXXX") || exit 1
passed=0 failed=0 port=$((20000 + $$ % 20000))

cleanup() {
    rm -rf "$work"
    # The registry of this run's own domain.
    rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"
}
trap cleanup EXIT

need() {
    command -v "$1" >/dev/null && return
    echo "$1 is not installed (Debian: $2)"
    [ "${CI:-}" = true ] && exit 1
    exit 77
}

result() { # result STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok - $2"
    else
        failed=$((failed + 1))
        echo "not ok - $2"
        sed 's/^/  server: /' "$work/server"
        sed 's/^/  client: /' "$work/client"
    fi
}

listening() { # listening PORT: a socket listens there
    local hex
    hex=$(printf '%04X' "$1")
    grep -qE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

pair() { # pair COMMAND ARGUMENT...: a server and a client, both must succeed
    local server status=0 try
    port=$((port + 1))
    LD_PRELOAD=$library timeout 60 "$@" -p $port >"$work/server" 2>&1 &
    server=$!
    for ((try = 0; try < 200; try++)); do
        listening $port && break
        read -rt 0.05 <> <(:)
    done
    LD_PRELOAD=$library timeout 60 "$@" -p $port localhost >"$work/client" 2>&1 || status=1
    if [ $status -ne 0 ]; then
        kill "$server" 2>/dev/null
    fi
    wait "$server" || status=1
    result $status "$*"
}

need ibv_devinfo ibverbs-utils
need ibv_rc_pingpong ibverbs-utils

: >"$work/server"
LD_PRELOAD=$library timeout 20 ibv_devinfo -v >"$work/client" 2>&1 &&
    grep -q 'hca_id:.*softrdma0' "$work/client" && grep -q PORT_ACTIVE "$work/client"
result $? ibv_devinfo

pair ibv_rc_pingpong
pair ibv_rc_pingpong -e
pair ibv_rc_pingpong -g 0
pair ibv_rc_pingpong -s 1 -n 5000
pair ibv_rc_pingpong -s 1048576 -m 4096 -n 50
pair ibv_uc_pingpong
pair ibv_uc_pingpong -e
pair ibv_ud_pingpong
pair ibv_ud_pingpong -e
pair ibv_ud_pingpong -g 0
pair ibv_srq_pingpong
pair ibv_srq_pingpong -e
SOFTRDMA_LINK=eth pair ibv_rc_pingpong -g 0
SOFTRDMA_LINK=eth pair ibv_ud_pingpong -g 0

if command -v ib_send_lat >/dev/null; then
    pair ib_send_lat -s 8
    pair ib_send_lat -s 8 -e -n 200
    pair ib_send_bw -a
    pair ib_write_lat -s 8
    pair ib_write_bw -s 1048576 -n 200
    pair ib_read_bw -s 65536 -n 500 -q 4
    pair ib_atomic_bw -n 500
    pair ib_send_bw -c UD -s 1024
    pair ib_send_bw -b -s 4096 --use-srq
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
