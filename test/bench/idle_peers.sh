#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A further idle peer costs little memory: footprint with a bound. Part of `make check`; `make bench` shows
# up to 1000 peers.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=self
be_start idle_peers
limit=16
be_case "a further idle peer takes at most $limit KiB" 60 "$BE_BUILDDIR/test/bench/footprint" --limit "$limit"
be_finish
