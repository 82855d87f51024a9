#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Python module and its example, over the transport and over TCP.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

python=${BE_PYTHON:-/usr/bin/python3}
export PYTHONPATH=$BE_BUILDDIR/src/python/.libs PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import numpy' 2>/dev/null || be_abort "NumPy is missing (Debian package python3-numpy)"
for BE_TEST_TLS in be,self tcp,self; do
    be_start python
    be_case "the module on $BE_TEST_TLS" 120 "${BE_PREFIX[@]}" "$python" "$BE_SRCDIR/test/python/module_test.py"
    be_case "the example on $BE_TEST_TLS" 60 "${BE_PREFIX[@]}" "$python" "$BE_SRCDIR/examples/parameters.py"
    rm -rf "$BE_TMP"
done
be_finish
