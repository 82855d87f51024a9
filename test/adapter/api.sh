#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The adapter's interface over the transport, and over TCP, which is what it is compared with.
#   BE_RESTARTS   restarts of a server under load, on each, default 0
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

for BE_TEST_TLS in be,self tcp,self; do
    be_start adapter
    for suite in calls servers failures hostile parameters idle; do
        be_case "$suite on $BE_TEST_TLS" 120 "$BE_SRCDIR/test/adapter/again.sh" "${BE_PREFIX[@]}" \
            "$BE_BUILDDIR/test/adapter/api_test" "--run_test=$suite"
    done
    # Only when asked for: UCX 1.13 itself aborts now and then (tcp_sockcm_ep.c, async.c) when its listener ends
    # while somebody connects; see docs/adapter.md.
    if [ "${BE_RESTARTS:-0}" != 0 ]; then
        be_case "restarts on $BE_TEST_TLS" 120 "${BE_PREFIX[@]}" \
            "$BE_BUILDDIR/test/adapter/restart_test" "$BE_RESTARTS"
    fi
    be_case "from C on $BE_TEST_TLS" 60 "${BE_PREFIX[@]}" "$BE_BUILDDIR/test/adapter/c_api_test"
    rm -rf "$BE_TMP"
done
be_finish
