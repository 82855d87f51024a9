#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A plugin in a UCX of another release: one line that says so, nothing registered, and the program
# does its work and ends well.
set -uo pipefail

fake=$BE_BUILDDIR/test/uct/.libs/libfake_ucp.so
plugin=$BE_MODULEDIR/libuct_be.so.0
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
        tail -n 10 "$output/out" "$output/err" | sed 's/^/     /'
        failed=1
    fi
}

run() { # preloaded libraries
    timeout 60 env "LD_PRELOAD=$1" ucx_info -d >"$output/out" 2>"$output/err"
}

run "$plugin"
result "the right release: ends well" $?
grep -q 'Transport: be$' "$output/out"
result "the right release: the transport is there" $?

run "$fake $plugin"
result "another release: the program ends well" $?
! grep -q 'Transport: be$' "$output/out"
result "another release: the transport is not there" $?
grep -q 'Transport: tcp$' "$output/out"
result "another release: others are" $?
[ "$(wc -l <"$output/err")" = 1 ] &&
    grep -qE '^libuct_be: not registered: built for UCX [0-9]+\.[0-9]+, running UCX 1\.99\.7$' \
        "$output/err"
result "another release: one line says so" $?

exit $failed
