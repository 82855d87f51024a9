#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A machine that does not give the software device what it needs: it says what, and programs that do not depend
# on it are left alone. Part of `make check`.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

info=$BE_BUILDDIR/src/tools/be_info
export SOFTRDMA_DOMAIN=limits-$$ UCX_BE_SOFT=yes
be_start limits
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT

# refuses NAME PATTERN SHELL-PREFIX: be_info ends by itself and names the cause; another transport still works.
refuses() {
    local name=$1 pattern=$2 prefix=$3 rc=0
    be_bounded 30 bash -c "$prefix; exec '$info'" >"$BE_TMP/log" 2>&1 </dev/null || rc=$?
    if [ "$rc" -lt 124 ] && grep -qE "$pattern" "$BE_TMP/log"; then
        be_pass "$name: be_info says why"
    else
        be_fail "$name (exit status $rc, expected '$pattern')" "$BE_TMP/log"
    fi
    be_case "$name: UCX goes on without" 30 bash -c "$prefix; UCX_TLS=tcp,self exec '$BE_RUN' ucx_info -d"
}

refuses "file size" 'ulimit -f' 'ulimit -f 1000000'
# A mount namespace of its own, where that is allowed.
if unshare -m true 2>/dev/null; then
    full='mount -t tmpfs -o size=64k none /dev/shm && dd if=/dev/zero of=/dev/shm/x bs=4k status=none 2>/dev/null'
    be_bounded 30 unshare -m bash -c "$full; UCX_BE_SOFT=yes exec '$info'" >"$BE_TMP/log" 2>&1
    rc=$?
    if [ "$rc" -lt 124 ] && grep -q 'No space left on device' "$BE_TMP/log"; then
        be_pass "full /dev/shm: be_info says why"
    else
        be_fail "full /dev/shm (exit status $rc)" "$BE_TMP/log"
    fi
else
    echo "# no full /dev/shm: mounting needs root"
fi
be_finish
