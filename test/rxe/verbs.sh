#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What run.sh runs in the guest besides guest.sh: the semantics suite of the software device on the kernel's
# soft-RoCE, from rxe0 to rxe1, without the cases of verbs.differences. It shows that the suite asks of the
# software device what a kernel's verbs do.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=test/lib/harness.sh
. "$here/../lib/harness.sh"

BE_TEST_TLS=none # no UCX here
be_start rxe-verbs
# The real library; GID 1 is RoCE v2 with an IPv4 address.
export SOFTRDMA_LIBRARY=libibverbs.so.1 SOFTTEST_DEVICES=rxe0,rxe1 SOFTTEST_GID_INDEX=1
program=$BE_BUILDDIR/test/verbs/softrdma_test
filter=$(awk '!/^#/ && NF { printf "%s!%s", separator, $1; separator = ":" }' "$here/verbs.differences")
be_case "semantics suite on soft-RoCE" 300 "$program" --color_output=no --report_level=short --run_test="$filter"
be_finish
