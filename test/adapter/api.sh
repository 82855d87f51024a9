#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The adapter's interface over the transport, and over TCP, which is what it is compared with.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

for BE_TEST_TLS in be,self tcp,self; do
    be_start adapter
    for suite in calls servers failures hostile parameters idle; do
        be_case "$suite on $BE_TEST_TLS" 120 "${BE_PREFIX[@]}" \
            "$BE_BUILDDIR/test/adapter/api_test" "--run_test=$suite"
    done
    be_case "restarts on $BE_TEST_TLS" 120 "${BE_PREFIX[@]}" \
        "$BE_BUILDDIR/test/adapter/restart_test" "${BE_RESTARTS:-40}"
    be_case "from C on $BE_TEST_TLS" 60 "${BE_PREFIX[@]}" "$BE_BUILDDIR/test/adapter/c_api_test"
    rm -rf "$BE_TMP"
done
be_finish
