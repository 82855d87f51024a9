#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The transport on a kernel's own verbs: soft-RoCE in a guest under QEMU's emulation, from
# device rxe0 (veth0) to rxe1 (veth1). guest.sh is what runs inside.
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

rc=0
export BE_RUN BE_SRCDIR BE_BUILDDIR BE_TEST_TLS
timeout -k 10 900 "$vm" -t 840 -w "$BE_TMP" -- bash "$BE_SRCDIR/test/rxe/guest.sh" \
    >"$BE_TMP/guest.log" 2>&1 </dev/null || rc=$?
grep -v '^[0-9]* passed, [0-9]* failed' "$BE_TMP/guest.log"
if ! be_totals "$BE_TMP/guest.log"; then
    be_fail "guest (exit status $rc, no totals)" "$BE_TMP/guest.log"
fi
be_finish
