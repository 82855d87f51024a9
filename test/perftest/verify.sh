#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_ucp_verify on the transport under test: polling, and sleeping on the event descriptor.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

be_start verify
be_program 300 "$BE_BUILDDIR/test/perftest/be_ucp_verify" "$@"
be_program 300 "$BE_BUILDDIR/test/perftest/be_ucp_verify" --sleep "$@"
be_finish
