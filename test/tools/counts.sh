#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/test-counts.sh on results made for it: no failure may get lost in the counting.
set -euo pipefail

top=${BE_SRCDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/be-counts.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# given RESULT LOG-TEXT: the result of one more test
given() {
    n=$((${n:-0} + 1))
    printf ':test-result: %s\n:global-test-result: %s\n' "$1" "$1" >"$tmp/$n.trs"
    printf '%b' "$2" >"$tmp/$n.log"
}

# expect NAME CI COUNTS: of what was given since the last time
expect() {
    local got
    got=$(CI=$2 bash "$top/contrib/test-counts.sh" "$tmp"/*.trs)
    if [ "$got" = "$3" ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1: expected '$3', got '$got'"
    fi
    rm -f "$tmp"/*
}

boost_good='Test module "a" has passed with:\n  3 test cases out of 3 passed\n  9 assertions out of 9 passed\n'
# an aborted case is among the failed ones
boost_bad='Test module "a" has failed with:\n  1 test case out of 5 passed\n  1 test case out of 5 passed with warnings\n  1 test case out of 5 skipped\n  2 test cases out of 5 failed\n  1 test case out of 5 aborted\n'

given PASS 'anything\n'
expect "a test that counts nothing is one" '' '1 0 0'
given FAIL 'anything\n'
expect "a failed one too" '' '0 1 0'
given PASS "$boost_good"
expect "Boost.Test's cases" '' '3 0 0'
given FAIL "$boost_bad"
expect "Boost.Test's failed and skipped cases" '' '2 2 1'
given FAIL "$boost_good"
expect "a program that dies after its report" '' '3 1 0'
given FAIL ''
expect "a program that dies before its report" '' '0 1 0'
given PASS 'ok a\n12 passed, 0 failed, 2 skipped\n'
expect "a script's totals" '' '12 0 2'
given FAIL '12 passed, 1 failed, 2 skipped\n'
expect "a script's failures" '' '12 1 2'
given ERROR ''
expect "an error is a failure" '' '0 1 0'
given SKIP 'no device\n'
expect "a test skipped" '' '0 0 1'
given SKIP 'no device\n'
expect "a test skipped in CI is a failure" true '0 1 0'
given PASS "$boost_good"
given FAIL ''
given SKIP ''
given PASS '2 passed, 0 failed, 0 skipped\n'
expect "the sum of several" '' '5 1 1'

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
