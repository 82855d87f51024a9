#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# devices.sh - the semantics suite between two software devices, on both link layers: softrdma_test by itself
# uses one device on InfiniBand. Faults, counters and the model are of the one device that they watch. Part of
# `make check`.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

export SOFTRDMA_DOMAIN=devices-$$ SOFTRDMA_DEVICES=2 SOFTTEST_DEVICES=softrdma0,softrdma1
BE_TEST_TLS=none # no UCX here
be_start devices
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
program=$BE_BUILDDIR/test/verbs/softrdma_test

for link in ib eth; do
    export SOFTRDMA_LINK=$link
    be_case "two devices, link layer $link" 120 "$program" --color_output=no \
        '--run_test=!fabric:!fault:!counter'
done
be_finish
