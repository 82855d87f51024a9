#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A machine that does not give the software device what it needs: it says what, and programs that do not depend
# on it are left alone. Part of `make check`.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

library=${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so
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
refuses "address space" 'mapping 4 GiB of address space: .*ulimit -v is 2929 MiB' 'ulimit -v 3000000'

# Programs that do not ask for devices hear nothing.
be_bounded 30 bash -c "ulimit -v 3000000; LD_PRELOAD='$library' exec ls -d /" >"$BE_TMP/log" 2>&1
if [ "$(cat "$BE_TMP/log")" = / ]; then be_pass "address space: others hear nothing"; else
    be_fail "address space: others hear nothing" "$BE_TMP/log"
fi

if command -v ibv_rc_pingpong >/dev/null; then
    be_server 20 "$BE_TMP/server" env "LD_PRELOAD=$library" ibv_rc_pingpong
    be_bounded 60 bash -c "ulimit -v 6500000; LD_PRELOAD='$library' exec ibv_rc_pingpong -p $be_port localhost" \
        >"$BE_TMP/log" 2>&1 </dev/null
    kill "$be_pid" 2>/dev/null
    be_reap "$be_pid" 10 || true
    said='process [0-9]+ cannot be reached: mapping 4 GiB of its device memory: .*ulimit -v is 6347 MiB'
    if [ "$(grep -cE "$said" "$BE_TMP/log")" = 1 ]; then
        be_pass "address space for a peer: said once"
    else
        be_fail "address space for a peer (expected one line '$said')" "$BE_TMP/log" "$BE_TMP/server"
    fi
    be_server 20 "$BE_TMP/server" env "LD_PRELOAD=$library" ibv_rc_pingpong
    be_bounded 30 env SOFTRDMA_LINK=eth "LD_PRELOAD=$library" ibv_devices >"$BE_TMP/log" 2>&1
    kill "$be_pid" 2>/dev/null
    be_reap "$be_pid" 10 || true
    if grep -q 'SOFTRDMA_LINK is eth here and ib in process [0-9]* of domain' "$BE_TMP/log"; then
        be_pass "another link layer: said"
    else
        be_fail "another link layer: not said" "$BE_TMP/log"
    fi
else
    be_skip "peers out of reach" "no ibv_rc_pingpong (ibverbs-utils)"
fi

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
    be_bounded 30 unshare -m bash -c "umount -l /proc; LD_PRELOAD='$library' exec ibv_devices" >"$BE_TMP/log" 2>&1
    if grep -q '/proc, which must be mounted' "$BE_TMP/log"; then
        be_pass "no /proc: says why"
    else
        be_fail "no /proc" "$BE_TMP/log"
    fi
else
    echo "# no full /dev/shm, no missing /proc: mounting needs root"
fi
be_finish
