#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# crash.sh - processes that are killed while they work, many processes, many queue pairs (crash/main.cpp says
# how). Part of `make check`; SOFTRDMA_TEST_ALL=yes kills 10 000 times, SOFTRDMA_TEST_KILLS says how often.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

export SOFTRDMA_DOMAIN=crash-$$ SOFTRDMA_ONLY=yes
BE_TEST_TLS=none # no UCX here
be_start crash
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
program=$BE_BUILDDIR/test/verbs/crash/crash_test
kills=20 limit=200
if [ "${SOFTRDMA_TEST_ALL:-no}" = yes ]; then kills=10000 limit=7200; fi
kills=${SOFTRDMA_TEST_KILLS:-$kills}
seed=${SOFTRDMA_TEST_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
echo "# SOFTRDMA_TEST_SEED=$seed"

# What is in shared memory, with its size in bytes.
in_memory() { stat -c '%n %s' /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"; }

# Whatever is killed, the registry is the only thing that stays, and no larger than the first process made it.
"$program" --kills 0 --messages 5 >"$BE_TMP/first" 2>&1
before=$(in_memory)
be_case "$kills kills of one of four" "$limit" "$program" --kills "$kills" --seed "$seed"
be_case "64 processes, all to all" 200 "$program" --workers 64 --kills 0 --messages 5 --seed "$seed"
be_case "1026 queue pairs in a process" 100 "$program" --pairs 342 --kills 2 --messages 5 --seed "$seed"
in_memory >"$BE_TMP/left"
if [ "$(wc -l <"$BE_TMP/left")" = 1 ] && [ "$(cat "$BE_TMP/left")" = "$before" ]; then
    be_pass "nothing left"
else
    be_fail "nothing left" "$BE_TMP/left"
fi
be_finish
