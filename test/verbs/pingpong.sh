#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# pingpong.sh - unmodified verbs programs on the software device: ibv_devinfo and the ibv_*_pingpong programs.
# Part of `make check`. SOFTRDMA_TEST_ALL=yes tries every size and MTU.
#
# Exit status 77 when the programs are not installed (a failure when CI=true).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

export SOFTRDMA_DOMAIN=pingpong-$$ SOFTRDMA_ONLY=yes
BE_TEST_TLS=none # no UCX here
be_start pingpong
# shellcheck source=test/verbs/pair.sh
. "$(dirname "${BASH_SOURCE[0]}")/pair.sh"
be_need ibv_devinfo ibverbs-utils
be_need ibv_rc_pingpong ibverbs-utils

devinfo() {
    be_bounded 20 "${soft[@]}" ibv_devinfo -v | tee "$BE_TMP/devinfo"
    grep -q 'hca_id:.*softrdma0' "$BE_TMP/devinfo" && grep -q PORT_ACTIVE "$BE_TMP/devinfo"
}

if devinfo >/dev/null; then be_pass ibv_devinfo; else be_fail ibv_devinfo "$BE_TMP/devinfo"; fi

# Datagrams are of one MTU at most.
sizes=(1 1048576)
mtus=(4096)
if try_all; then
    sizes=(1 2 3 64 65 1000 4096 4097 8192 8321 65536 1048576 16777216)
    mtus=(256 512 1024 2048 4096)
fi
for kind in rc uc srq; do
    pair "ibv_${kind}_pingpong"
    pair "ibv_${kind}_pingpong" -e
    pair "ibv_${kind}_pingpong" -g 0
    for size in "${sizes[@]}"; do
        for mtu in "${mtus[@]}"; do
            pair "ibv_${kind}_pingpong" -s "$size" -m "$mtu" -n 50
        done
    done
done
pair ibv_ud_pingpong
pair ibv_ud_pingpong -e
pair ibv_ud_pingpong -g 0
pair ibv_ud_pingpong -g 1 -s 1
pair ibv_ud_pingpong -s 2048
for link in ib eth; do
    SOFTRDMA_LINK=$link SOFTRDMA_DEVICES=2 pair ibv_rc_pingpong -d softrdma1 -g 1
    SOFTRDMA_LINK=$link SOFTRDMA_DEVICES=2 pair ibv_ud_pingpong -d softrdma1 -g 0 -e
done
for kind in rc uc srq ud; do
    SOFTRDMA_LINK=eth pair "ibv_${kind}_pingpong" -g 0
    SOFTRDMA_LINK=eth pair "ibv_${kind}_pingpong" -g 1 -e
done
be_finish
