#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The transport on a kernel's own verbs: soft-RoCE in a guest under QEMU's emulation, from
# device rxe0 (veth0) to rxe1 (veth1); the semantics suite of the software device there; recovery; and the adapter's
# interface. guest.sh, verbs.sh, recovery.sh and adapter.sh are what runs inside.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start rxe
be_need qemu-system-x86_64 qemu-system-x86
be_need busybox busybox-static
be_need xz xz-utils
vm=$BE_SRCDIR/contrib/rxe-vm.sh

# The kernel is fetched and unpacked once; that is not part of the guest's time.
if ! "$vm" -p >"$BE_TMP/prepare.log" 2>&1; then
    cat "$BE_TMP/prepare.log"
    be_abort "no kernel for the guest"
fi

export BE_RUN BE_SRCDIR BE_BUILDDIR BE_TEST_TLS

# in_guest SECONDS SCRIPT: its lines and totals become ours.
in_guest() {
    local limit=$1 script=$2 rc=0
    local log=$BE_TMP/$script.log
    timeout -k 10 "$limit" "$vm" -t $((limit - 60)) -w "$BE_TMP" -- \
        bash "$BE_SRCDIR/test/rxe/$script" >"$log" 2>&1 </dev/null || rc=$?
    grep -v '^[0-9]* passed, [0-9]* failed' "$log"
    be_totals "$log" || be_fail "$script (exit status $rc, no totals)" "$log"
}

in_guest 900 guest.sh
in_guest 400 verbs.sh
in_guest 1060 recovery.sh
in_guest 400 adapter.sh
be_finish
