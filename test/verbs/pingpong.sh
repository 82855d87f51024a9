#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# pingpong.sh - unmodified verbs programs on the software device: ibv_devinfo, the ibv_*_pingpong programs,
# and, where installed, perftest. Part of `make check`.
#
# Exit status 77 when the programs are not installed (a failure when CI=true).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
export SOFTRDMA_DOMAIN=pingpong-$$ SOFTRDMA_ONLY=yes
BE_TEST_TLS=none # no UCX here
be_start pingpong
# The registry of this run's own domain goes too.
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need ibv_devinfo ibverbs-utils
be_need ibv_rc_pingpong ibverbs-utils
soft=(env "LD_PRELOAD=$library")

devinfo() {
    be_bounded 20 "${soft[@]}" ibv_devinfo -v | tee "$BE_TMP/devinfo"
    grep -q 'hca_id:.*softrdma0' "$BE_TMP/devinfo" && grep -q PORT_ACTIVE "$BE_TMP/devinfo"
}

pair() { # pair COMMAND ARGUMENT...: a server and a client, both must succeed
    local rc=0 server_rc=0
    if ! be_server 20 "$BE_TMP/server.log" "${soft[@]}" "$@"; then
        be_fail "$* (the server does not listen)" "$BE_TMP/server.log"
        return
    fi
    be_bounded 60 "${soft[@]}" "$@" -p "$be_port" localhost >"$BE_TMP/client.log" 2>&1 </dev/null || rc=$?
    # A server whose client failed may wait for ever.
    [ "$rc" = 0 ] || kill "$be_pid" 2>/dev/null
    be_reap "$be_pid" 60 || server_rc=$?
    [ "$rc" != 0 ] || rc=$server_rc
    be_verdict "$*" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
}

if devinfo >/dev/null; then be_pass ibv_devinfo; else be_fail ibv_devinfo "$BE_TMP/devinfo"; fi

pair ibv_rc_pingpong
pair ibv_rc_pingpong -e
pair ibv_rc_pingpong -g 0
pair ibv_rc_pingpong -s 1 -n 5000
pair ibv_rc_pingpong -s 1048576 -m 4096 -n 50
pair ibv_uc_pingpong
pair ibv_uc_pingpong -e
pair ibv_ud_pingpong
pair ibv_ud_pingpong -e
pair ibv_ud_pingpong -g 0
pair ibv_srq_pingpong
pair ibv_srq_pingpong -e
SOFTRDMA_LINK=eth pair ibv_rc_pingpong -g 0
SOFTRDMA_LINK=eth pair ibv_ud_pingpong -g 0

if ! command -v ib_send_lat >/dev/null; then
    be_skip perftest "ib_send_lat is missing (Debian package perftest)"
else
    pair ib_send_lat -s 8
    pair ib_send_lat -s 8 -e -n 200
    pair ib_send_bw -a
    pair ib_write_lat -s 8
    pair ib_write_bw -s 1048576 -n 200
    pair ib_read_bw -s 65536 -n 500 -q 4
    pair ib_atomic_bw -n 500
    pair ib_send_bw -c UD -s 1024
    pair ib_send_bw -b -s 4096 --use-srq
fi

be_finish
