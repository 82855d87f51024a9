#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Simulated events per second on one core, with our policy; at least two million are
# expected of a machine that is otherwise idle.
set -euo pipefail

{ "${BE_BUILDDIR:-build}/test/sim/be_sim" --rate -p product ps-short steady-64 >/dev/null; } 2>&1
