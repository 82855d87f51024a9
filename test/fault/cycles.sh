#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_ucp_cycles on the transport under test.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start cycles
be_program 620 "$BE_BUILDDIR/test/fault/be_ucp_cycles" "$@"
be_finish
