#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The allocator beside jemalloc's malloc and free, and beside malloc with a registration: alloc and free of one
# block, and put_zcopy of one that was just allocated. 9 rounds (or --rounds N) of all, in random order within a
# round; prints medians, and of the ratios of the rounds the median, the least and the most.
# Package: libjemalloc2; without it, glibc's malloc is the one beside.
set -euo pipefail

rounds=9
if [ "${1:-}" = --rounds ]; then rounds=${2:?--rounds takes a number}; fi
build=${BE_BUILDDIR:?is set by make bench}
modules=${BE_MODULEDIR:-$build/modules}
csv=$(mktemp)
trap 'rm -f "$csv" "$csv.log"' EXIT

jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" && !found { print $NF; found = 1 }')
if [ -n "$jemalloc" ]; then
    echo "malloc: jemalloc, $jemalloc"
else
    echo "malloc: glibc's (libjemalloc2 is not installed)"
fi
LD_PRELOAD=$jemalloc UCX_BE_SOFT_LIBRARY=$modules/libsoftrdma.so \
    "$build/test/bench/memory_bench" --benchmark_repetitions="$rounds" --benchmark_min_time=0.05 \
    --benchmark_enable_random_interleaving=true --benchmark_display_aggregates_only=false \
    --benchmark_format=csv >"$csv" 2>"$csv.log" || {
    cat "$csv.log" >&2
    exit 1
}
awk -F, '
    function sort(v, n,   i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    }
    function median(what,   i, n, v) {
        n = count[what]
        for (i = 1; i <= n; i++) v[i] = time[what, i]
        sort(v, n)
        return v[int((n + 1) / 2)]
    }
    # "MEDIAN (LEAST to MOST)" of the ratios of the rounds.
    function ratio(above, below,   i, n, v) {
        n = count[above]
        for (i = 1; i <= n; i++) v[i] = time[above, i] / time[below, i]
        sort(v, n)
        return sprintf("%.2f (%.2f to %.2f)", v[int((n + 1) / 2)], v[1], v[n])
    }
    $1 ~ /^"/ && $1 !~ /_(mean|median|stddev|cv)"$/ {
        gsub(/"/, "", $1)
        split($1, part, "/")
        what = part[1] " " part[2] " " ($1 ~ /threads:2/ ? 2 : 1)
        time[what, ++count[what]] = $3
    }
    END {
        printf "%8s %8s %10s %10s %14s   %-24s %s\n", "bytes", "threads", "heap ns", "malloc ns", "registered ns",
            "heap / malloc", "registered / heap"
        n = split("64 4096 262144", size, " ")
        for (i = 1; i <= n; i++) {
            for (t = 1; t <= 2; t++) {
                h = "heap " size[i] " " t; m = "plain_malloc " size[i] " " t; r = "malloc_and_register " size[i] " " 1
                printf "%8d %8d %10.1f %10.1f", size[i], t, median(h), median(m)
                if (t == 1) printf " %14.1f   %-24s %s\n", median(r), ratio(h, m), ratio(r, h)
                else printf " %14s   %-24s\n", "-", ratio(h, m)
            }
        }
        h = "put_from_heap 1048576 1"; m = "put_from_malloc 1048576 1"
        printf "put_zcopy of 1 MiB: %.1f us from the heap, %.1f us from malloc with a registration, ratio %s\n",
            median(h) / 1e3, median(m) / 1e3, ratio(m, h)
    }' "$csv"
