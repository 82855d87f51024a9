# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of two sides on the software device. Sourced after be_start, which is to be called with a domain of
# its own in SOFTRDMA_DOMAIN.
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
soft=(env "LD_PRELOAD=$library")
# The registry of this run's own domain goes too.
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT

# pair COMMAND ARGUMENT...: a server and a client of it; both must succeed.
pair() {
    local rc=0 server_rc=0
    if ! be_server 20 "$BE_TMP/server.log" "${soft[@]}" "$@"; then
        be_fail "$* (the server does not listen)" "$BE_TMP/server.log"
        return
    fi
    be_bounded 180 "${soft[@]}" "$@" -p "$be_port" localhost >"$BE_TMP/client.log" 2>&1 </dev/null || rc=$?
    # A server whose client failed may wait for ever.
    [ "$rc" = 0 ] || kill "$be_pid" 2>/dev/null
    be_reap "$be_pid" 60 || server_rc=$?
    [ "$rc" != 0 ] || rc=$server_rc
    be_verdict "$*" "$rc" 180 "$BE_TMP/server.log" "$BE_TMP/client.log"
}

# Whether everything is to be tried and not a sample: SOFTRDMA_TEST_ALL=yes.
try_all() { [ "${SOFTRDMA_TEST_ALL:-no}" = yes ]; }
