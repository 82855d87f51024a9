#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_hostile on the transport under test. Several hundred bad connections may not fill the log:
# each reason is told, but not each time.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start hostile
if ! be_is_be; then
    # UCX's tcp waits for strangers for ever and logs each; one device is enough to try the test.
    UCX_NET_DEVICES=lo UCX_LOG_LEVEL=error \
        be_program 300 "$BE_BUILDDIR/test/fault/be_hostile" --lenient
    be_finish
fi

be_program 420 "$BE_BUILDDIR/test/fault/be_hostile"
lines=$(grep -cE 'UCX +(WARN|ERROR)' "$BE_TMP/program.log")
if [ "$lines" -ge 1 ] && [ "$lines" -le 100 ]; then
    be_pass "hostile/log ($lines lines)"
else
    be_fail "hostile/log: $lines lines instead of 1 to 100"
fi
be_finish
