#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Benchmark: a pull of 1 MiB by Python beside one by C++.
export PYTHONPATH=$BE_BUILDDIR/src/python/.libs UCX_TLS=be,self
exec "$BE_RUN" "$BE_BUILDDIR/test/python/pull_bench" "${BE_PYTHON:-/usr/bin/python3}" "$BE_SRCDIR/test/python/bench.py"
