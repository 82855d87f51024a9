#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Large messages are copied nowhere: zero_copy.cpp under be_run.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=be
be_start zero_copy
UCX_BE_SOFT=yes be_bounded 120 "${BE_PREFIX[@]}" "$BE_BUILDDIR/test/uct/zero_copy" 2>"$BE_TMP/errors"
rc=$?
[ "$rc" -eq 0 ] || cat "$BE_TMP/errors" >&2
exit "$rc"
