#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A machine that does not give the software device what it needs: it says what, and programs that do not depend
# on it are left alone. Part of `make check`.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

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

# transfers LIMIT: between a server and a client that are under it.
transfers() {
    local test name size rc
    for test in "tag_lat 8" "tag_bw 65536" "tag_bw 1000000" "ucp_put_bw 1048576" "ucp_get 1048576"; do
        read -r name size <<<"$test"
        rc=0
        perf_pair 60 -t "$name" -s "$size" -n 50 -w 2 -f || rc=$?
        be_verdict "$1: $name $size B" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
    done
}

# As much locked memory as a system gives to ordinary users: less buffers, and nothing that stands still.
PERF_SERVER=("${BE_PREFIX[@]}" env SOFTRDMA_LOCKED=8)
PERF_CLIENT=("${PERF_SERVER[@]}")
transfers "8 MiB of locked memory"
said='receives instead of [0-9]+, .*the limit on locked memory, SOFTRDMA_LOCKED, is 8388608 bytes'
for log in "$BE_TMP/server.log" "$BE_TMP/client.log"; do
    if [ "$(grep -cE "$said" "$log")" = 1 ]; then be_pass "8 MiB of locked memory: said once"; else
        be_fail "8 MiB of locked memory (expected one line '$said')" "$log"
    fi
done

# Services, whose bodies lie in memory that the application brings.
for work in "fetch" "fetch --keys 8" "push" "mixed"; do
    read -ra words <<<"$work"
    for locked in 8 80; do
        be_case "$locked MiB of locked memory: $work" 60 env "SOFTRDMA_LOCKED=$locked" "$BE_BUILDDIR/src/tools/be_perf" \
            "${words[@]}" --pairs 1 --duration 0.3 --warm-up 0.1 --clients 2
    done
done

# Not enough to start with.
be_bounded 60 env SOFTRDMA_LOCKED=1 "${BE_PREFIX[@]}" ucx_info -w -u t >"$BE_TMP/log" 2>&1 </dev/null
rc=$?
if [ "$rc" != 124 ] && grep -q 'ibv_reg_mr.*SOFTRDMA_LOCKED, is 1048576 bytes' "$BE_TMP/log"; then
    be_pass "1 MiB of locked memory: says why"
else
    be_fail "1 MiB of locked memory (exit status $rc)" "$BE_TMP/log"
fi

# A memory group whose limit the kernel enforces by killing: enough for few buffers, then for next to nothing.
make_group() {
    local top
    for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$top/be-limits-$$
        if mkdir "$group" 2>/dev/null; then
            for limit_file in memory.limit_in_bytes memory.max; do
                if [ -e "$group/$limit_file" ]; then return 0; fi
            done
            rmdir "$group"
        fi
    done
    group=
    return 1
}

# shellcheck disable=SC2016 # for the shell that enters
enter='echo $$ >"$GROUP/cgroup.procs" && exec "$@"'
group='' limit_file=''
if make_group; then
    trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"; rmdir "$group" 2>/dev/null' EXIT
    export GROUP=$group
    PERF_SERVER=(bash -c "$enter" enter "${BE_PREFIX[@]}")
    PERF_CLIENT=("${PERF_SERVER[@]}")
    for mebi in 96 64; do
        echo $((mebi << 20)) >"$group/$limit_file"
        transfers "memory group of $mebi MiB"
    done
    unset GROUP
else
    echo "# no memory group: that needs root, and a hierarchy that is mounted for writing"
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
