#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Our policy keeps its promises in every scenario that takes seconds: no pause, no
# receiver-not-ready NAK, and the goodput, fairness and latency bounds of each. The long
# ones: be_sim --suite full --check.
# shellcheck disable=SC2317 # the functions are called through bash -c
export BE_TEST_TLS=none
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
be_start sim-bounds

export sim=$BE_BUILDDIR/test/sim/be_sim BE_TMP

within() { "$sim" --check -p product --suite small --seed "$1"; }

# What the bounds are about is there at all: others pause, and meet no receive.
others_fail() {
    "$sim" --json -p none incast-64 slow-20 >"$BE_TMP/none" &&
        ! grep -q '"pauses": 0,' "$BE_TMP/none" &&
        grep -q '"rnr_naks": [1-9]' "$BE_TMP/none"
}

# A switch with room for nothing: even ours is paused, and --check says so.
check_fails() {
    local status=0
    "$sim" --check -p product --xoff 8 incast-64 >/dev/null 2>"$BE_TMP/error" || status=$?
    [ "$status" -eq 1 ] && grep -q 'incast-64: pauses [1-9]' "$BE_TMP/error"
}

export -f within others_fail check_fails
be_case "all bounds hold, seed 1" 60 bash -c 'within 1'
be_case "all bounds hold, seed 4" 60 bash -c 'within 4'
be_case "without flow control there are pauses and NAKs" 30 bash -c others_fail
be_case "a bound that is missed is reported" 30 bash -c check_fails
be_finish
