#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every test of ucx_perftest on the transport under test, between two processes.
#
#   matrix.sh [--full] [--list] [PATTERN]
#
# The default is a subset for `make check` that has every test and every mode, and every
# size in the plain mode; --full is all sizes in all modes. PATTERN (a bash pattern)
# chooses among the names; --list prints them. ucx_perftest moves data but looks at
# little of it: be_ucp_verify is the program that compares content.

# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

full=0 list=0 pattern='*'
for argument in "$@"; do
    case $argument in
        --full) full=1 ;;
        --list) list=1 ;;
        -*) echo "matrix.sh: $argument: expected --full, --list or a pattern" >&2; exit 2 ;;
        *) pattern=$argument ;;
    esac
done

# One byte to 64 MiB, around the 8 KiB segment.
SIZES=(1 8 1024 8191 8192 8193 65536 1048576 67108864)
MESSAGE_TESTS=(tag_lat tag_bw tag_sync_lat tag_sync_bw stream_lat stream_bw
    ucp_am_lat ucp_am_bw)
REMOTE_TESTS=(ucp_put_lat ucp_put_bw ucp_get)
ATOMIC_TESTS=(ucp_add ucp_fadd ucp_swap ucp_cswap)

# iterations SIZE: enough to wrap every queue with small messages, few of the largest.
iterations() {
    if [ "$1" -le 1024 ]; then echo 2000
    elif [ "$1" -le 16384 ]; then echo 1000
    elif [ "$1" -le 262144 ]; then echo 200
    elif [ "$1" -le 4194304 ]; then echo 40
    else echo 3; fi
}

# pieces SIZE: the same bytes in three uneven entries.
pieces() {
    echo "$(($1 / 4)),$(($1 / 2)),$(($1 - $1 / 4 - $1 / 2))"
}

# run NAME SIZE ARGUMENTS...: one pair of processes.
run() {
    local name=$1 size=$2 n rc=0 noise
    shift 2
    # shellcheck disable=SC2053 # a pattern is wanted
    [[ $name == $pattern ]] || return 0
    if [ $list = 1 ]; then
        echo "$name"
        return 0
    fi
    n=${ITERATIONS:-$(iterations "$size")}
    perf_pair 90 -n "$n" -w "$((n / 10 + 1))" -f "$@" || rc=$?
    noise=$(perf_noise)
    if [ $rc = 0 ] && ! perf_complete "$n"; then
        be_fail "$name (no result of $n iterations)" "$BE_TMP"/{server,client}.log
    elif [ $rc = 0 ] && [ -n "$noise" ]; then
        be_fail "$name (warnings)" "$BE_TMP"/{server,client}.log
    else
        be_verdict "$name" "$rc" 90 "$BE_TMP/server.log" "$BE_TMP/client.log"
    fi
}

# every LABEL SIZES TESTS -- ARGUMENTS...: each test at each size, in one mode.
every() {
    local label=$1 sizes=$2 tests=$3 kind size
    shift 4
    for kind in $tests; do
        for size in $sizes; do
            run "$label/$kind/$size" "$size" -t "$kind" -s "$size" "$@"
        done
    done
}

# vectors SIZES: send or receive side, or both, as lists of pieces.
vectors() {
    local size kind layout
    for size in $1; do
        [ "$size" -ge 8 ] || continue
        for kind in "${MESSAGE_TESTS[@]}"; do
            for layout in $2; do
                # An active message has no receive side to lay out.
                case $kind,$layout in
                    ucp_am_*,contig,iov) continue ;;
                esac
                run "iov/$kind/$layout/$size" "$size" -t "$kind" -s "$(pieces "$size")" \
                    -D "$layout"
            done
        done
    done
}

ucp_tests() {
    local most="${SIZES[*]}" few='8 8193' large='65536' all layouts='iov,iov'
    local plain="${MESSAGE_TESTS[*]} ${REMOTE_TESTS[*]}"
    local bandwidth='tag_bw tag_sync_bw stream_bw ucp_am_bw ucp_put_bw ucp_get'
    local atomics="${ATOMIC_TESTS[*]}"
    if [ $full = 1 ]; then
        few=$most large=$most layouts='iov,iov iov,contig contig,iov'
    fi
    all="$plain $atomics"
    every poll "$most" "$plain" --
    every poll '4 8' "$atomics" --
    vectors "$([ $full = 1 ] && echo "$most" || echo '8192 65536')" "$layouts"
    sleeping "$few"
    every threads "$large" "$plain" -- -T 2
    every threads 8 "$atomics" -- -T 2
    every outstanding "$few" "$bandwidth" -- -O 32
    every unexpected "$few" 'tag_lat tag_bw' -- -U
    every wildcard "$few" 'tag_lat' -- -C
    every errors "$few" 'tag_bw ucp_am_bw ucp_put_bw' -- -e
    every recv_data "$few" 'stream_lat stream_bw' -- -r recv_data
    every am_header "$few" 'ucp_am_lat ucp_am_bw' -- -H 16
    alone "$few" "$all"
}

# sleeping SIZES: both sides sleep on the worker's event descriptor. ucx_perftest's responder
# sleeps once an iteration, which needs an event for each:
#   get      the target sees nothing: -o keeps it out of the loop, the requester sleeps
#   atomics  several may come in one event, or the first while the responder is still in
#            its barrier; its last sleep then never ends, on every transport of UCX.
#   put      the responder waits for a change of its memory, which is no event where the
#            device writes it (rc_verbs hangs as well): only tcp, which emulates puts by
#            messages, wakes it
# be_ucp_verify has all of them between sleeping processes.
sleeping() {
    every sleep "$1" "${MESSAGE_TESTS[*]}" -- -E sleep
    every sleep "$1" ucp_get -- -E sleep -o
    absent sleep/atomics "ucx_perftest wants an event for each"
    case $BE_TEST_TLS in
        tcp*) every sleep "$1" 'ucp_put_lat ucp_put_bw' -- -E sleep ;;
        *) absent sleep/ucp_put "no event at the target" ;;
    esac
}

# absent NAME REASON: a case that cannot exist, for the reader of the log.
absent() {
    [ $list = 1 ] || echo "# no $1: $2"
}

# alone SIZES TESTS: the transport without self beside it.
alone() {
    local tls=${BE_TEST_TLS%,self}
    [ "$tls" != "$BE_TEST_TLS" ] || return 0
    local saved=("${BE_PREFIX[@]}")
    BE_PREFIX[1]="UCX_TLS=$tls"
    PERF_SERVER=() PERF_CLIENT=()
    every alone 8 "$2" --
    [ $full = 0 ] || every alone "$1" "${MESSAGE_TESTS[*]} ${REMOTE_TESTS[*]}" --
    BE_PREFIX=("${saved[@]}")
    PERF_SERVER=() PERF_CLIENT=()
}

# uct_limit CAPABILITY: its largest size in bytes by ucx_info (at most 64 MiB), empty when
# it is absent.
uct_limit() {
    awk -v name="$1:" '$2 == name && !done {
        value = $4; sub(/,$/, "", value)
        unit = substr(value, length(value))
        scale = unit == "K" ? 1024 : unit == "M" ? 1048576 : unit == "G" ? 1073741824 : 1
        value *= scale
        printf "%d\n", value < 67108864 ? value : 67108864; done = 1
    }' "$BE_TMP/uct.info"
}

# uct_case LAYOUT TEST CAPABILITY: at a small size and as large as the transport takes.
uct_case() {
    local size largest
    largest=$(uct_limit "$3")
    if [ -z "$largest" ]; then
        if be_is_be; then
            be_fail "uct/$2/$1 ($uct_tl has no $3)"
        else
            absent "uct/$2/$1" "$uct_tl has no $3"
        fi
        return
    fi
    local sizes=(8 512 8192 1048576)
    [ $full = 0 ] || sizes=("${SIZES[@]}")
    # Active messages carry their 8-byte header inside the given size.
    for size in "${sizes[@]}" "$largest"; do
        if [ "$size" -lt 8 ] || [ "$size" -gt "$largest" ]; then
            continue
        fi
        run "uct/$2/$1/$size" "$size" -t "$2" -x "$uct_tl" -d "$uct_device" -D "$1" \
            -s "$size"
    done
}

uct_tests() {
    uct_tl=${BE_TEST_TLS%%,*}
    "${BE_PREFIX[@]}" ucx_info -d >"$BE_TMP/uct.all" 2>&1
    # The last resource of the transport: UCX lists the loopback device behind others.
    uct_device=$(awk -v tl="$uct_tl" '$2 == "Transport:" { on = $3 == tl }
        on && $2 == "Device:" { device = $3 } END { print device }' "$BE_TMP/uct.all")
    if [ -z "$uct_device" ]; then
        be_fail "uct (ucx_info -d shows no transport $uct_tl)" "$BE_TMP/uct.all"
        return
    fi
    awk -v tl="$uct_tl" -v device="$uct_device" '$2 == "Transport:" { on = $3 == tl }
        $2 == "Device:" { on = on && $3 == device } on' "$BE_TMP/uct.all" >"$BE_TMP/uct.info"
    local kind layout
    for kind in am_lat am_bw; do
        for layout in short bcopy zcopy; do
            uct_case $layout $kind am_$layout
        done
        uct_case shortiov $kind am_short
    done
    for kind in put_lat put_bw; do
        for layout in short bcopy zcopy; do
            uct_case $layout $kind put_$layout
        done
    done
    for layout in bcopy zcopy; do
        uct_case $layout get get_$layout
    done
}

be_need ucx_perftest ucx-utils
be_need ucx_info ucx-utils
be_start perftest
ucp_tests
# UCT tests need a transport that connects to an interface.
case $BE_TEST_TLS in
    posix*) absent uct "several transports under test" ;;
    *) uct_tests ;;
esac
[ $list = 1 ] && exit 0
be_finish
