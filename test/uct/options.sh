#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Configuration variables as users meet them: listed with a sentence, wrong values named, the software
# device chosen or not.
set -uo pipefail

command -v ucx_info >/dev/null || {
    echo "SKIP: no ucx_info (package ucx-utils)"
    exit 77
}

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
failed=0

result() { # what, 0 or 1
    if [ "$2" = 0 ]; then
        echo "ok   $1"
    else
        echo "FAIL $1"
        tail -n 5 "$output/out" | sed 's/^/     /'
        failed=1
    fi
}

info() { # VARIABLE=VALUE..., then after -- ucx_info's arguments
    local assignments=()
    while [ "$1" != -- ]; do
        assignments+=("$1")
        shift
    done
    shift
    timeout 60 env "${assignments[@]}" LD_PRELOAD="$BE_MODULEDIR/libuct_be.so.0" \
        ucx_info "$@" >"$output/out" 2>&1
}

info -- -cf
result "ucx_info -cf works" $?
for name in SOFT RESOURCE_NAME REG RCACHE_MAX_REGIONS RCACHE_MAX_SIZE RCACHE_MAX_UNRELEASED \
    RCACHE_MEM_PRIO RCACHE_PURGE_ON_FORK MUX SEG_SIZE RX_QUEUE_LEN RX_MAX TX_QUEUE_LEN WINDOW CHUNK \
    MAX_INLINE PATH_MTU TIMEOUT RETRY_COUNT TRAFFIC_CLASS SL GID_INDEX PEER_TIMEOUT \
    RECOVERY MAX_RECOVERIES FALLBACK CONNECT_TIMEOUT STATS METRICS; do
    # The comment above a variable is: a sentence, then the syntax of its values.
    awk -v name="UCX_BE_$name" '
        /^$/ { text = "" }
        /^#/ { text = text $0 }
        index($0, name "=") == 1 { found = (text ~ /[A-Za-z].*syntax:/) }
        END { exit !found }' "$output/out"
    result "UCX_BE_$name is explained" $?
    grep -q "\`UCX_BE_$name\`" "$BE_SRCDIR/docs/ucx.md"
    result "UCX_BE_$name is in docs/ucx.md" $?
done

info UCX_BE_SOFT=maybe -- -d
grep -q "Invalid value for SOFT: 'maybe'. Expected: \[auto|yes|no\]" "$output/out"
result "a wrong word: variable, value and what is accepted" $?

info UCX_BE_MUX=worker -- -d
grep -q "Invalid value for MUX: 'worker'. Expected: \[iface|process\]" "$output/out"
result "a wrong scope: variable, value and what is accepted" $?

info UCX_BE_RETRY_COUNT=9 -- -d
grep -q "UCX_BE_RETRY_COUNT=9 is out of range: expected auto or 0 to 6" "$output/out"
result "a number out of range: variable, value and what is accepted" $?

refused=0
for _ in 1 2 3 4 5 6 7 8; do # the clock's rate is measured anew each time
    for value in PEER_TIMEOUT=10ms PEER_TIMEOUT=3600s CONNECT_TIMEOUT=10ms; do
        info "UCX_BE_$value" -- -d
        ! grep -q 'out of range' "$output/out" || refused=$((refused + 1))
    done
done
result "the limits of a time are within it" $refused

info UCX_BE_WINDOW=64k -- -d
! grep -q 'ERROR' "$output/out" && info UCX_BE_CHUNK=64m -- -d && ! grep -q 'ERROR' "$output/out"
result "a window or a chunk alone: the other one follows" $?

info UCX_BE_WINDOW=64k UCX_BE_CHUNK=1m -- -d
grep -q 'UCX_BE_WINDOW=65536 is less than UCX_BE_CHUNK=1048576' "$output/out"
result "a window smaller than a chunk: both named" $?

info UCX_BE_SOFT=yes UCX_BE_BYTE_CREDIT=yes UCX_BE_BYTE_BUDGET=64k UCX_BE_LINK_RATE=125m -- -d
! grep -q 'ERROR' "$output/out" && grep -q 'Transport: be' "$output/out"
result "byte credit with all it can be told" $?

info UCX_BE_BYTE_CREDIT=yes UCX_BE_BYTE_BUDGET=64k UCX_BE_SEG_SIZE=32k -- -d
grep -q 'UCX_BE_BYTE_BUDGET=65536 is too little for UCX_BE_SEG_SIZE=32768: expected at least 4 times' "$output/out"
result "a byte budget of too few messages: both named" $?

info UCX_BE_BYTE_BUDGET=1k -- -d
grep -q 'UCX_BE_BYTE_BUDGET=1024 is out of range: expected auto or 64k to 2m bytes' "$output/out"
result "a byte budget out of range: variable, value and what is accepted" $?

info UCX_BE_SOFT=yes -- -d
grep -q 'Memory domain: be_softrdma0' "$output/out" && grep -q 'Device: lo' "$output/out"
result "UCX_BE_SOFT=yes: the software device, called as its network interface" $?

info UCX_BE_SOFT=yes UCX_BE_RESOURCE_NAME=port -- -d
grep -q 'Device: softrdma0:1' "$output/out"
result "UCX_BE_RESOURCE_NAME=port: called as its port" $?

if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    info UCX_BE_SOFT=no UCX_TLS=be -- -d
    grep -q 'WARN.*be: no usable RDMA device' "$output/out"
    result "no device, asked for by name: a warning that says why" $?
    info UCX_BE_SOFT=no -- -d
    ! grep -q 'be: no usable' "$output/out"
    result "no device, not asked for: silence" $?
fi

exit $failed
