#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# file-size.sh - no source file above 500 lines; says the median. Part of `make check`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
limit=500

find src test contrib m4 configure.ac Makefile.am -type f ! -name 'libtool.m4' ! -name 'lt*.m4' \
    \( -name '*.c' -o -name '*.h' -o -name '*.inl' -o -name '*.cpp' -o -name '*.hpp' \
    -o -name '*.fbs' -o -name '*.sh' -o -name '*.py' -o -name '*.m4' -o -name '*.mk' \
    -o -name '*.ac' -o -name '*.am' \) -exec wc -l {} + |
    awk -v limit=$limit '
    $2 == "total" { next }
    $1 > limit { print $2 ": " $1 " lines, at most " limit " are allowed"; failed = 1 }
    $2 ~ /\.(c|h|inl|cpp|hpp)$/ { lines[++n] = $1 }
    END {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && lines[j - 1] > lines[j]; j--) {
                t = lines[j]; lines[j] = lines[j - 1]; lines[j - 1] = t
            }
        print "file-size: " n " C and C++ files, median " lines[int((n + 1) / 2)] \
            " lines, longest " lines[n]
        exit failed
    }'
