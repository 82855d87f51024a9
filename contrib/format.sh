#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# format.sh [--fix] - check (or restore) the format of all C and C++ files in git.
# Package: clang-format (14).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(--dry-run -Werror)
case ${1:-} in
    "") ;;
    --fix) mode=(-i) ;;
    *) echo "usage: format.sh [--fix]" >&2; exit 2 ;;
esac
for tool in clang-format git; do
    command -v "$tool" >/dev/null || {
        echo "format.sh: $tool not found: apt-get install $tool" >&2
        exit 1
    }
done
git ls-files -z '*.c' '*.h' '*.inl' '*.cpp' '*.hpp' |
    xargs -0 --no-run-if-empty clang-format "${mode[@]}"
