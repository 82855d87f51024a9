#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# pyverbs.sh - rdma-core's own tests of verbs on the software device, on both link layers. Part of
# `make check`. The tests are in Debian's package python3-pyverbs, as documentation; which of them cannot
# apply, and why, is in pyverbs.skipped.
#
#   SOFTRDMA_PYVERBS_ROUNDS  how often (default 1); many tests choose their values by chance
#
# Exit status 77 when pyverbs is not installed (a failure when CI=true).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

here=$(dirname "${BASH_SOURCE[0]}")
library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
python=/usr/bin/python3 # the one that Debian's package is for
export SOFTRDMA_DOMAIN=pyverbs-$$ SOFTRDMA_ONLY=yes PYTHONDONTWRITEBYTECODE=1
BE_TEST_TLS=none # no UCX here
be_start pyverbs
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need "$python" python3
"$python" -c 'import pyverbs' 2>/dev/null || be_abort "pyverbs is missing (Debian package python3-pyverbs)"

# Where dpkg leaves documentation out, the package itself still has them.
tests=/usr/share/doc/rdma-core/tests
if [ ! -e "$tests/run_tests.py" ]; then
    (cd "$BE_TMP" && apt-get -q download python3-pyverbs && dpkg-deb -x python3-pyverbs_*.deb .) \
        >"$BE_TMP/download.log" 2>&1 </dev/null || {
        cat "$BE_TMP/download.log"
        be_abort "no $tests, and apt-get download python3-pyverbs fails"
    }
    tests=$BE_TMP$tests
fi
mkdir "$BE_TMP/tests"
cp "$tests"/*.py* "$BE_TMP/tests"
gzip -dq "$BE_TMP"/tests/*.gz

for ((round = 0; round < ${SOFTRDMA_PYVERBS_ROUNDS:-1}; round++)); do
    for link in ib eth; do
        echo "# link layer $link"
        BE_PREFIX=(env "LD_PRELOAD=$library" "SOFTRDMA_LINK=$link")
        be_program 120 "$python" "$here/run_pyverbs.py" "$BE_TMP" "$here/pyverbs.skipped" "$link"
    done
done
be_finish
