#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# chaos: everything fails at random under four processes, and nothing is lost. BE_CHAOS_SECONDS says for how long: 60
# seconds, with CI=true 300.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=none # no UCX here
export SOFTRDMA_DOMAIN=chaos-$$
be_start chaos
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
if [ "${CI:-}" = true ]; then
    : "${BE_CHAOS_SECONDS:=300}"
fi
export BE_CHAOS_SECONDS=${BE_CHAOS_SECONDS:-60}
log=$BE_TMP/chaos.log rc=0
limit=$((BE_CHAOS_SECONDS + 240))
be_bounded "$limit" "$BE_BUILDDIR/test/fault/chaos" "$@" >"$log" 2>&1 </dev/null || rc=$?
grep '^#' "$log"
be_verdict "chaos" "$rc" "$limit" "$log"
be_finish
