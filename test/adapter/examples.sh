#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The adapter's examples, over the transport and over TCP.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

for BE_TEST_TLS in be,self tcp,self; do
    be_start adapter-examples
    be_case "hello_rpc on $BE_TEST_TLS" 30 "${BE_PREFIX[@]}" "$BE_BUILDDIR/examples/hello_rpc" you
    if grep -qx 'Hello, you!' "$BE_TMP/case.log"; then
        be_pass "it greets"
    else
        be_fail "it does not greet" "$BE_TMP/case.log"
    fi
    be_case "hello on $BE_TEST_TLS" 30 "${BE_PREFIX[@]}" "$BE_BUILDDIR/examples/hello" you
    if [ "$(grep -cxE 'Hello, you!|1000000 bytes in 10 parts' "$BE_TMP/case.log")" = 2 ]; then
        be_pass "it greets and counts in C"
    else
        be_fail "it does not greet and count in C" "$BE_TMP/case.log"
    fi
    head -c 20000000 /dev/zero | tr '\0' x >"$BE_TMP/large" && echo end >>"$BE_TMP/large"
    be_case "upload on $BE_TEST_TLS" 30 "${BE_PREFIX[@]}" "$BE_BUILDDIR/examples/upload" "$BE_TMP/large" "$BE_TMP/copy"
    if grep -qx '20000004 bytes in 20 parts' "$BE_TMP/case.log" && cmp -s "$BE_TMP/large" "$BE_TMP/copy"; then
        be_pass "what came is what was sent"
    else
        be_fail "what came is not what was sent" "$BE_TMP/case.log"
    fi
    be_case "logistic_regression on $BE_TEST_TLS" 60 "${BE_PREFIX[@]}" "$BE_BUILDDIR/examples/logistic_regression"
    rm -rf "$BE_TMP"
done
be_finish
