#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Fifteen processes push to one over the software device with a model of the network: ports of 10 Gb/s, a switch
# with 256 KiB for each, priority flow control. With byte credit no sender is paused, and nobody meets a queue without
# receives; over UCX's rc_verbs the same work pauses senders. On a line so slow that any machine could fill it, it is
# busy, too. A receiver that only sleeps still gives the credit that its writers wait for.
#   BE_TEST_INCAST_BYTES   what each pushes, default 256 KiB
#   BE_TEST_INCAST_GOODPUT percent of the 10 Gb/s that must be reached, default 0: on a machine with fewer processors
#                          than processes goodput is the machine's and only printed
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

bytes=${BE_TEST_INCAST_BYTES:-$((256 << 10))}
least=${BE_TEST_INCAST_GOODPUT:-0}
slow_least=50 # percent of 100 Mb/s; with nothing else to do two processors reach 90, 95 where each pushes 1 MiB
BE_TEST_TLS=be,self
be_start incast
library=${BE_MODULEDIR:-$BE_BUILDDIR/modules}/libsoftrdma.so
export SOFTRDMA_DOMAIN=incast-$$
# Sixteen processes share few processors here: who waits gives his away at once, or each grant costs a round of
# vain polls of everybody else.
export SOFTRDMA_ONLY=yes SOFTRDMA_YIELD=1
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
tool=$BE_BUILDDIR/src/softrdma/softrdma
incast=$BE_BUILDDIR/test/incast/be_incast

# set_line RATE BYTES-A-SECOND
set_line() {
    export SOFTRDMA_FABRIC=rate=$1,delay=2us,buffer=256K,pfc=on
    rate=$2
    be=(env "UCX_TLS=be,self" UCX_BE_SOFT=yes UCX_BE_BYTE_CREDIT=yes UCX_BE_BYTE_BUDGET=112k
        "UCX_BE_LINK_RATE=$rate" "$BE_RUN")
}

# sum COUNTER: over all ports.
sum() {
    grep -o "\"$1\": *[0-9]*" "$BE_TMP/counters" | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

# push NAME MODE SIZE PREFIX...: runs it; sets pauses, rnr and goodput (percent).
push() {
    local name=$1 mode=$2 size=$3 rc=0
    shift 3
    be_bounded 100 "$@" "$incast" "$mode" 15 "$bytes" "$size" \
        "'$tool' counters --json >'$BE_TMP/counters'" >"$BE_TMP/out" 2>"$BE_TMP/error" </dev/null || rc=$?
    if [ "$rc" != 0 ] || ! grep -q '^bytes' "$BE_TMP/out"; then
        be_fail "$name (exit status $rc)" "$BE_TMP/error" "$BE_TMP/out"
        return 1
    fi
    pauses=$(sum 'tx_prio[0-7]_pause')
    rnr=$(($(sum rnr_nak_retry_err) + $(sum out_of_buffer) + $(sum req_rnr_retries_exceeded)))
    goodput=$(awk -v rate="$rate" '/^bytes/ { printf "%.1f", 100 * $2 / $4 / rate }' "$BE_TMP/out")
    echo "# $name: $pauses pauses, $rnr without a receive, goodput $goodput % of the line"
}

# over_be LEAST-GOODPUT MODE SIZE
over_be() {
    local least=$1 mode=$2 size=$3 name
    name="15 to 1, $mode of $size bytes over be at ${SOFTRDMA_FABRIC%%,*}"
    push "$name" "$mode" "$size" "${be[@]}" || return 0
    if [ "$pauses" = 0 ] && [ "$rnr" = 0 ] && awk -v a="$goodput" -v b="$least" 'BEGIN { exit a < b }'; then
        be_pass "$name: no pause, no RNR"
    else
        be_fail "$name: $pauses pauses, $rnr RNR, goodput $goodput %, expected 0, 0 and $least or more"
    fi
}

works=("put 262144" "asleep 65536" "put 16384" "tag 8000" "tag 262144")
set_line 100M 12500000
for work in "${works[@]}"; do
    read -r mode size <<<"$work"
    over_be "$slow_least" "$mode" "$size"
done
set_line 10G 1250000000
for work in "${works[@]}"; do
    read -r mode size <<<"$work"
    over_be "$least" "$mode" "$size"
done
# Enough for the senders to be under way together whoever has a processor.
[ "$bytes" -ge $((4 << 20)) ] || bytes=$((4 << 20))
name="15 to 1, put of 262144 bytes over rc_verbs"
if push "$name" put 262144 env UCX_TLS=rc_verbs,ud_verbs,self "LD_PRELOAD=$library"; then
    if [ "$pauses" != 0 ]; then
        be_pass "$name: senders are paused"
    else
        be_fail "$name: no pauses; the model does not see what it should"
    fi
fi
be_finish
