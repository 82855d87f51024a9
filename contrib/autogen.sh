#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# autogen.sh - make the configure script from configure.ac (after a git clone).
# Packages: autoconf automake libtool pkg-config.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
for tool in autoreconf automake libtoolize pkg-config; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: $tool not found:" \
            "apt-get install autoconf automake libtool pkg-config" >&2
        exit 1
    }
done
mkdir -p build-aux
exec autoreconf --install --force "$@"
