#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The allocator beside jemalloc's malloc and free, and beside malloc with a registration: alloc and
# free of one block, in turns and in random order. Prints medians of 9 repetitions and their ratios.
# Package: libjemalloc2; without it, glibc's malloc is the one beside.
set -euo pipefail

build=${BE_BUILDDIR:?is set by make bench}
modules=${BE_MODULEDIR:-$build/modules}
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT

jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
if [ -n "$jemalloc" ]; then
    echo "malloc: jemalloc, $jemalloc"
else
    echo "malloc: glibc's (libjemalloc2 is not installed)"
fi
LD_PRELOAD=$jemalloc UCX_BE_SOFT_LIBRARY=$modules/libsoftrdma.so \
    "$build/test/bench/memory_bench" --benchmark_repetitions=9 --benchmark_min_time=0.05 \
    --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true \
    --benchmark_format=csv >"$csv" 2>/dev/null
awk -F, '
    /_median"/ {
        gsub(/"/, "", $1); sub(/_median$/, "", $1)
        split($1, part, "/")
        threads = $1 ~ /threads:2/ ? 2 : 1
        time[part[1], part[2], threads] = $3
    }
    END {
        printf "%8s %8s %10s %10s %12s %14s %14s\n", "bytes", "threads", "heap ns", "malloc ns",
            "registered ns", "heap/malloc", "registered/heap"
        n = split("64 4096 262144", size, " ")
        for (i = 1; i <= n; i++) {
            for (t = 1; t <= 2; t++) {
                h = time["heap", size[i], t]; m = time["plain_malloc", size[i], t]
                r = time["malloc_and_register", size[i], 1]
                printf "%8d %8d %10.1f %10.1f", size[i], t, h, m
                if (t == 1) printf " %12.1f", r; else printf " %12s", "-"
                printf " %14.2f", h / m
                if (t == 1) printf " %14.1f", r / h
                printf "\n"
            }
        }
    }' "$csv"
