#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# quickstart.sh - from a fresh checkout to the transport at work, on Debian or Ubuntu.
#
# Installs what is missing, builds in build/, and shows: which device is used and why,
# ucx_perftest over the transport beside TCP, the result of an MPI job, and a parameter
# server over both. Run again, it does only what is not done yet. Needs root or sudo only to install packages.
set -euo pipefail
# shellcheck source=contrib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
[ $# = 0 ] || die "takes no arguments, got '$*'"

pairs=3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

say "ByteExpress for UCX: setting up (logs in ${logs#"$PWD"/})"
"$top/contrib/setup.sh" --for try
run_logged mpi-program make -C "$build" test/mpi/be_mpi_ring

# The tests' way to run a pair of ucx_perftest and to read its figures.
export BE_BUILDDIR=$build BE_SRCDIR=$top BE_RUN=$build/src/tools/be_run
# shellcheck source=test/lib/harness.sh
. "$top/test/lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$top/test/lib/perftest.sh"
be_start quickstart >/dev/null

device=$("$build/src/tools/be_info" --used) || {
    "$build/src/tools/be_info" || true
    die "the transport cannot run here: see above"
}
IFS=$'\t' read -r port netdev kind reason <<<"$device"

# Few iterations: on a machine that is busy with other work TCP takes milliseconds for each. But not too few:
# the kernel needs some 10 ms to move two processes that poll to different cores.
# measure TRANSPORT TEST SIZE ITERATIONS COLUMN: that column of ucx_perftest's last line.
measure() {
    local transport=$1 environment
    # the same network interface for both, when the device has one
    environment=(env "UCX_TLS=$transport,self" ${netdev:+"UCX_NET_DEVICES=$netdev"})
    [ "$transport" != be ] || environment+=("$BE_RUN")
    # shellcheck disable=SC2034 # read by perf_pair
    PERF_SERVER=("${environment[@]}") PERF_CLIENT=("${environment[@]}")
    perf_pair 60 -t "$2" -s "$3" -n "$4" -w 100 -f -v || {
        cat "$BE_TMP/server.log" "$BE_TMP/client.log" >&2
        die "ucx_perftest -t $2 -s $3 over $transport failed: see above"
    }
    perf_value "$5"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# row LABEL UNIT TEST SIZE ITERATIONS COLUMN
row() {
    local label=$1 unit=$2 n be tcp
    shift 2
    : >"$BE_TMP/pairs"
    for ((n = 0; n < pairs; n++)); do
        be=$(measure be "$@")
        tcp=$(measure tcp "$@")
        echo "$be $tcp" >>"$BE_TMP/pairs"
    done
    be=$(awk '{ print $1 }' "$BE_TMP/pairs" | median)
    tcp=$(awk '{ print $2 }' "$BE_TMP/pairs" | median)
    printf '  %-28s %10.2f %s %10.2f %s %10.3f\n' "$label" "$be" "$unit" "$tcp" "$unit" \
        "$(awk '{ print $1 / $2 }' "$BE_TMP/pairs" | median)"
}

# Where the parameter server listens: the network interface of the device.
address=127.0.0.1
if [ "$kind" != software ] && [ -n "$netdev" ] && command -v ip >/dev/null; then
    address=$(ip -4 -o addr show dev "$netdev" | awk '{ sub("/.*", "", $4); print $4; exit }')
fi

[ "$kind" != software ] || kind="the software device that comes with it: one host only"
say ""
say "Device   $port${netdev:+ ($netdev)}, $kind"
say "Why      $reason"
say "UCX      $(ucx_info -v | sed -n 's/^# *\(Library version:\|Version\) *//p' | head -n 1)"
say ""
printf '  %-28s %13s %15s %10s\n' "ucx_perftest" "be" "tcp" "be / tcp"
row "tag_lat 8 B, typical" "us  " tag_lat 8 5000 2
row "tag_lat 1 KiB, typical" "us  " tag_lat 1024 5000 2
row "tag_bw 64 KiB" "MB/s" tag_bw 65536 500 6
row "tag_bw 1 MiB" "MB/s" tag_bw 1048576 100 6
say "  (medians of $pairs alternating runs between two processes on this host)"
say ""

ring=("$BE_RUN" mpirun -np 2 --oversubscribe --bind-to none "$build/test/mpi/be_mpi_ring")
if ! be_bounded 120 "${ring[@]}" >"$BE_TMP/ring.log" 2>&1 </dev/null; then
    cat "$BE_TMP/ring.log" >&2
    die "the MPI job failed: see above"
fi
say "MPI      $(tail -n 1 "$BE_TMP/ring.log")"
say ""
say "A parameter server, and a worker that pulls from it (be_perf fetch --baseline tcp):"
say ""
env ${netdev:+"UCX_NET_DEVICES=$netdev"} "$build/src/tools/be_perf" fetch --baseline tcp \
    --pairs "$pairs" --duration 1 --address "${address:-127.0.0.1}" || die "be_perf failed: see above"
say ""
say "Next: build/src/tools/be_run COMMAND... runs any UCX or Open MPI program this way."
