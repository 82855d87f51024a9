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

# Without error handling one line is printed, and then either every request ends with an error or
# the process ends.
log=$BE_TMP/none.log rc=0
be_bounded 120 "${BE_PREFIX[@]}" "$program" --none >"$log" 2>&1 </dev/null || rc=$?
if [ "$rc" = 1 ] && grep -q 'rank 0: signal 6 (Aborted)' "$log"; then
    echo "# the process ends"
    rc=0
fi
be_verdict "death/no_error_handling" "$rc" 120 "$log"
# Lines that are not the test program's own.
lines=$(grep -cvE '^(ok|FAIL|#|[0-9]+ passed)' "$log")
if ! be_is_be; then
    echo "# $lines lines"
elif [ "$lines" = 1 ] && grep -qE 'UCX +ERROR.*lost: .*so this process ends' "$log"; then
    be_pass "death/no_error_handling: one line"
else
    be_fail "death/no_error_handling: $lines lines instead of one" "$log"
fi
be_finish
