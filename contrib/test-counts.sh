#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test-counts.sh FILE.trs... - how many tests passed, failed and were skipped, as three
# numbers, by the results that automake kept of `make check`.
#
# A test program that counts its own cases counts as these: Boost.Test's report
# (BOOST_TEST_REPORT_LEVEL=short) or a last line "N passed, M failed, K skipped". Any other is
# one test. A program that ended badly has failed once at least. With CI=true a test that
# was skipped as a whole counts as failed: on such a machine nothing may be missing.
set -euo pipefail

for result in "$@"; do
    log=${result%.trs}.log
    # one record for each test: its result, then its log
    sed -n 's/^:test-result: \([A-Z]*\).*/@result \1/p' "$result"
    [ ! -f "$log" ] || cat "$log"
done | awk -v ci="${CI:-}" '
    function flush() {
        if (result == "") return
        if (result == "SKIP") {
            if (ci == "true") failed++
            else skipped++
        } else {
            if (result != "PASS" && !f) f = 1
            if (!p && !f && !s) p = 1
            passed += p; failed += f; skipped += s
        }
        p = f = s = 0
    }
    $1 == "@result" { flush(); result = $2; next }
    /^ *[0-9]+ test cases? out of [0-9]+ passed( with warnings)?$/ { p += $1 }
    /^ *[0-9]+ test cases? out of [0-9]+ failed$/ { f += $1 }
    /^ *[0-9]+ test cases? out of [0-9]+ skipped$/ { s += $1 }
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p = $1; f = $3; s = $5 }
    END { flush(); print passed + 0, failed + 0, skipped + 0 }'
