#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# chaos_fallback: chaos with data over the side channel while a link is down. BE_CHAOS_SECONDS says for how long, three
# times as many (60: 20 seconds).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=none # no UCX here
export SOFTRDMA_DOMAIN=chaos-fallback-$$
be_start chaos_fallback
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
log=$BE_TMP/chaos.log rc=0 seconds=$(((${BE_CHAOS_SECONDS:-60} + 2) / 3))
limit=$((seconds + 240))
be_bounded "$limit" "$BE_BUILDDIR/test/fault/chaos" --fallback tcp --seconds "$seconds" "$@" >"$log" 2>&1 \
    </dev/null || rc=$?
grep '^#' "$log"
be_verdict "chaos with a fallback" "$rc" "$limit" "$log"
be_finish
