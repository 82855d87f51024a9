#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Puts the results of all scenarios under all policies into docs/flow-control.md; takes minutes.
#   table.sh [FILE]   FILE: results of `be_sim --suite full`, to spare the run
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
page=$top/docs/flow-control.md
results=$(mktemp)
trap 'rm -f "$results" "$results.page"' EXIT

if [ $# -gt 0 ]; then
    cp "$1" "$results"
else
    "${BE_BUILDDIR:-$top/build}/test/sim/be_sim" --suite full >"$results"
fi
awk -v results="$results" '
    /^<!-- table -->$/ { print; while ((getline line < results) > 0) print line; skip = 1 }
    /^<!-- end -->$/ { skip = 0 }
    !skip' "$page" >"$results.page"
cp "$results.page" "$page"
