#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What run.sh runs in the guest besides guest.sh: the adapter's interface over the kernel's verbs, both ends on rxe0. The
# guest is emulated, so these are the cases that neither move much nor race with a deadline of some ms; all others
# run on the software device (test/adapter/api.sh).
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=test/lib/harness.sh
. "$here/../lib/harness.sh"

be_start rxe-adapter
device=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
export UCX_NET_DEVICES=veth0

# on_device NAME CASES PACKETS: the cases pass, and rxe0 has sent at least so many packets for them.
on_device() {
    local name=$1 cases=$2 least=$3 before sent
    before=$(cat "$device")
    be_case "$name" 100 "${BE_PREFIX[@]}" "$BE_BUILDDIR/test/adapter/api_test" --color_output=no --report_level=short \
        "--run_test=$cases"
    sent=$(($(cat "$device") - before))
    if [ "$sent" -ge "$least" ]; then
        be_pass "$name: rxe0 sent $sent packets"
    else
        be_fail "$name: rxe0 sent $sent packets, expected at least $least" "$BE_TMP/case.log"
    fi
}

on_device "calls" "calls:!calls/a_body_of_256_mebibytes:!calls/many_channels_and_threads_at_once" 1000
on_device "servers" "servers" 100
on_device "failures" "failures/a_deadline_while_waiting_and_while_running,a_call_can_be_canceled_at_every_stage,\
cancellation_races_with_the_answer,idempotent_calls_survive_failover_between_two_servers" 1000
on_device "streams" "streams/parts_of_every_size_and_of_several_pieces,sixteen_streams_at_once,\
the_caller_cancels_in_the_middle,draining_waits_for_streams_that_were_begun" 1000
be_finish
