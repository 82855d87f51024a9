#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_sim as a program: bad usage is explained, runs repeat, traces replay, output is
# well-formed.
# shellcheck disable=SC2317 # the functions are called through bash -c
export BE_TEST_TLS=none
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
be_start sim

export sim=$BE_BUILDDIR/test/sim/be_sim BE_TMP

# refuses TEXT ARGUMENT...: exit status 2 and the text on stderr.
refuses() {
    local text=$1 status=0
    shift
    "$sim" "$@" >/dev/null 2>"$BE_TMP/error" || status=$?
    if [ "$status" -ne 2 ] || ! grep -qF -- "$text" "$BE_TMP/error"; then
        echo "be_sim $* gave status $status and said:"
        cat "$BE_TMP/error"
        return 1
    fi
}

bad_usage() {
    refuses "scenario 'incest-15' is unknown" incest-15 &&
        refuses "no scenario is given" &&
        refuses "--policy" --policy tcp incast-15 &&
        refuses "--gbps" --gbps 0 incast-15 &&
        refuses "--suite" --suite medium &&
        refuses "--record takes one scenario" --record "$BE_TMP/t" incast-15 &&
        refuses "cannot be written" -p product --record "$BE_TMP/no/t" lone-8-send &&
        refuses "cannot be read" --replay "$BE_TMP/absent"
}

# All but how long it took.
repeats() {
    local i
    for i in 1 2; do
        "$sim" --json --seed 7 -p swift,product lognormal-15 |
            grep -v '"seconds"' >"$BE_TMP/run$i" || return 1
    done
    "$sim" --json --seed 8 -p swift,product lognormal-15 |
        grep -v '"seconds"' >"$BE_TMP/other" || return 1
    cmp "$BE_TMP/run1" "$BE_TMP/run2" && ! cmp -s "$BE_TMP/run1" "$BE_TMP/other"
}

replays() {
    "$sim" -p product --record "$BE_TMP/trace" incast-15-send >/dev/null &&
        "$sim" --replay "$BE_TMP/trace" | grep -qE '^[0-9]{4,} steps, all as recorded$'
}

# Another total in one step must be noticed.
altered_trace_fails() {
    local status=0
    sed '0,/^arrival/s/^\(arrival.*= \)/\11/' "$BE_TMP/trace" >"$BE_TMP/altered" &&
        ! cmp -s "$BE_TMP/trace" "$BE_TMP/altered" || return 1
    "$sim" --replay "$BE_TMP/altered" >/dev/null 2>"$BE_TMP/error" || status=$?
    [ "$status" -eq 1 ] && grep -q "line [0-9]*: recorded 'arrival" "$BE_TMP/error"
}

plots() {
    "$sim" --plot "$BE_TMP/plot" -p none,product incast-15 steady-15 >/dev/null &&
        grep -q '^"steady-15" [0-9]' "$BE_TMP/plot.dat" || return 1
    if command -v gnuplot >/dev/null; then
        gnuplot "$BE_TMP/plot.gp" && grep -q '</svg>' "$BE_TMP/plot.svg"
    fi
}

export -f refuses bad_usage repeats replays altered_trace_fails plots
be_case "bad usage names what is wrong" 10 bash -c bad_usage
be_case "the same seed gives the same run" 20 bash -c repeats
be_case "a recorded run replays" 20 bash -c replays
be_case "a trace that was altered does not" 20 bash -c altered_trace_fails
be_case "plots are drawn" 20 bash -c plots
be_finish
