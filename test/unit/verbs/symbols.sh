#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No object of src/verbs may need a verbs library at link time: every ibv_* call goes
# through the table. Also shows that the check itself finds such a reference.
set -euo pipefail

builddir=${BE_BUILDDIR:?"is not set: run by make check"}

passed=0
failed=0

verdict() { # name, status
    if [ "$2" -eq 0 ]; then
        echo "ok $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1"
        failed=$((failed + 1))
    fi
}

# Undefined names of a verbs library in the objects, one a line.
undefined_verbs() { # objects
    nm --undefined-only --no-demangle "$@" 2>/dev/null |
        awk '$1 == "U" && $2 ~ /^_?(ibv|mlx5dv|rdma)_/ { print $2 }' | sort -u
}

command -v nm >/dev/null || {
    echo "SKIP nm is missing (package binutils)"
    [ "${CI:-}" = true ] && exit 1
    exit 77
}

shopt -s nullglob
objects=("$builddir"/src/verbs/*.o "$builddir"/src/verbs/.libs/*.o)
if [ "${#objects[@]}" -eq 0 ]; then
    echo "FAIL no object of src/verbs in $builddir"
    exit 1
fi

names=$(undefined_verbs "${objects[@]}")
[ -z "$names" ] || echo "undefined: $names"
verdict "${#objects[@]} objects of src/verbs need no verbs library" "$([ -z "$names" ]; echo $?)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int ibv_reg_mr(void); int probe(void) { return ibv_reg_mr(); }' >"$scratch/probe.c"
if "${CC:-cc}" -c "$scratch/probe.c" -o "$scratch/probe.o" 2>"$scratch/log"; then
    verdict "the check finds a reference" "$([ "$(undefined_verbs "$scratch/probe.o")" = ibv_reg_mr ]; echo $?)"
else
    cat "$scratch/log"
    verdict "the check finds a reference" 1
fi

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
