#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# again.sh COMMAND...: runs it, and up to twice again if UCX's own tcp transport aborted in it: that of 1.13 has assertions
# that fail when a peer ends while they connect (tcp_ep.c, wireup_ep.c) or send (uct_iface.h); docs/adapter.md. Anything
# else that fails fails at once.
set -u
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
for _ in 1 2 3; do
    rc=0
    "$@" >"$log" 2>&1 || rc=$?
    cat "$log"
    if [ "$rc" = 0 ] || ! grep -qE '(tcp_ep|wireup_ep)\.c:[0-9]+ +Assertion|uct_iface\.h:[0-9]+ +Assertion .comp->count > 0' "$log"; then
        exit "$rc"
    fi
    echo "again.sh: UCX itself aborted; once more"
done
exit "$rc"
