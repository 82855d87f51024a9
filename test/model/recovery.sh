#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# recovery.sh - Spin walks through all states of the model of recovery, within bounds, and finds
# the faults that are put into it. Part of `make check`.
#
#   BE_MODEL=large  wider bounds too: some minutes, and up to 600 MB
#
# Exit status 77 when Spin is not installed (a failure when CI=true).
# shellcheck disable=SC2317 # the functions are called through bash -c
export BE_TEST_TLS=none
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
be_start model
be_need spin spin
be_need "${CC:=gcc}" gcc

model=$BE_SRCDIR/test/model
awk -f "$model/steps.awk" "$model/recovery.table" >"$BE_TMP/steps.pml" || {
    be_fail "the table has a line for every event of the model"
    be_finish
}
cp "$model/recovery.pml" "$BE_TMP"

# generate FOLDER SEARCH-FLAG DEFINE...: makes pan, the program that searches.
generate() {
    local folder=$BE_TMP/$1 flag=$2
    shift 2
    # shellcheck disable=SC2086
    rm -rf "$folder" && mkdir "$folder" && cp "$BE_TMP"/*.pml "$folder" && cd "$folder" &&
        spin -a "$@" recovery.pml &&
        "$CC" -O1 -w -DMEMLIM=1450 $BE_PAN_FLAGS "$flag" -o pan pan.c
}

# search FOLDER [OPTION...]: runs it; the table of states grows as needed.
search() {
    local folder=$BE_TMP/$1
    shift
    cd "$folder" && ./pan -m100000 -w22 "$@" >log 2>&1
    cat log
}

# A search that was cut short has proved nothing.
holds() {
    local flag=-DSAFETY option=()
    if [ "$2" = cycles ]; then flag=-DNP option=(-l); fi
    generate "$1" "$flag" "${@:3}" && search "$1" "${option[@]}" || return 1
    grep -q 'errors: 0$' log && ! grep -qE 'not completed|max search depth|out of memory' log
}

# The fault is found by an assertion, and by no other kind of error.
found() {
    generate "$1" -DSAFETY "${@:2}" && search "$1" || return 1
    grep -q '^pan:1: assertion violated' log
}

export -f generate search holds found
export BE_TMP CC BE_PAN_FLAGS=

numbers() {
    sed -n -e 's/^ *\([0-9]*\) states, stored.*/\1 states/p' \
        -e 's/.*depth reached \([0-9]*\),.*/depth \1/p' \
        -e 's/^ *\([0-9]*\)\.[0-9]*\ttotal actual memory.*/\1 MB/p' \
        -e 's/^pan: elapsed time \(.*\) seconds.*/\1 s/p' "$BE_TMP/$1/log" | paste -sd ' ' |
        sed 's/^/#   /'
}

# check FOLDER NAME safety|cycles DEFINE...
check() {
    be_case "$2: ${*:4}" 300 bash -c 'holds "$@"' - "$1" "${@:3}" && numbers "$1"
}

# caught MUTATION DEFINE...
caught() {
    be_case "$1 is noticed" 120 bash -c 'found "$@"' - "$1" "-D$1" "${@:2}" && grep '^pan:1:' "$BE_TMP/$1/log" |
        sed 's/^pan:1: */#   /'
}

check failures "queue pairs fail" safety -DFAILURES=3 -DCUTS=1
check cuts "the channel is cut again" safety -DFAILURES=2 -DCUTS=2
check devices "devices vanish, data goes over TCP" safety -DFAILURES=0 -DCUTS=1 -DDEVICES=2 \
    -DMESSAGES=1
check mixed "a device vanishes among failures" safety -DFAILURES=1 -DCUTS=1 -DDEVICES=1
check crash "another incarnation is a stranger" safety -DFAILURES=1 -DCUTS=1 -DDEVICES=1 \
    -DMESSAGES=1 -DCRASH
check mischief "a channel that loses, delays and doubles" safety -DFAILURES=2 -DCUTS=1 -DMISCHIEF=1
check cycles "it ends: no cycles" cycles -DFAILURES=1 -DCUTS=1 -DDEVICES=1 -DMESSAGES=1
if [ "${BE_MODEL:-}" = large ]; then
    BE_PAN_FLAGS=-DCOLLAPSE # slower, in less memory
    check large-failures "queue pairs fail" safety -DFAILURES=3 -DCUTS=2
    check large-devices "devices vanish" safety -DFAILURES=0 -DCUTS=1 -DDEVICES=2
    check large-mixed "devices vanish among failures" safety -DFAILURES=1 -DCUTS=1 -DDEVICES=2 \
        -DMESSAGES=1
    check large-mischief "mischief" safety -DFAILURES=2 -DCUTS=1 -DMISCHIEF=2
    check large-cycles "no cycles" cycles -DFAILURES=1 -DCUTS=1 -DDEVICES=1
fi
caught DROP_DUPLICATE_CHECK -DFAILURES=2 -DCUTS=1
caught DROP_EPOCH_CHECK -DFAILURES=2 -DCUTS=1
caught NO_DRAIN -DFAILURES=2 -DCUTS=1
caught NO_REPETITION -DFAILURES=1 -DCUTS=1
be_finish
