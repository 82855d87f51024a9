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
    be_case "logistic_regression on $BE_TEST_TLS" 60 "${BE_PREFIX[@]}" "$BE_BUILDDIR/examples/logistic_regression"
    rm -rf "$BE_TMP"
done
be_finish
