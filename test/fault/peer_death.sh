#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_peer_death on the transport under test, and what is printed for an endpoint that has no
# error handling.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

program=$BE_BUILDDIR/test/fault/be_peer_death
be_start peer-death
be_program 500 "$program" "$@"

# Without error handling the transport says one line, and then either every request ends with an
# error or UCX ends the process, as it does for InfiniBand.
log=$BE_TMP/none.log rc=0
be_bounded 120 "${BE_PREFIX[@]}" "$program" --none >"$log" 2>&1 </dev/null || rc=$?
if [ "$rc" = 1 ] && grep -q 'rank 0: signal 6 (Aborted)' "$log"; then
    echo "# UCX aborts"
    rc=0
fi
be_verdict "death/no_error_handling" "$rc" 120 "$log"
lines=$(grep -cE 'UCX +(WARN|ERROR)' "$log")
if ! be_is_be; then
    echo "# $lines lines"
elif [ "$lines" = 1 ]; then
    be_pass "death/no_error_handling: one line"
else
    be_fail "death/no_error_handling: $lines lines instead of one" "$log"
fi
be_finish
