#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What libbyteexpress exports: its interface, with a version, and nothing of its inside.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=none
be_start adapter-symbols
be_need nm binutils
library=$BE_BUILDDIR/src/adapter/.libs/libbyteexpress.so.0

nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | c++filt >"$BE_TMP/symbols"
grep -vE '^(be::|be_adapter_|(typeinfo|typeinfo name|vtable) for be::Error@)' "$BE_TMP/symbols" >"$BE_TMP/others"
grep -E '^be::adapter::' "$BE_TMP/symbols" >>"$BE_TMP/others"
if [ -s "$BE_TMP/others" ]; then
    be_fail "foreign or internal symbols are exported" "$BE_TMP/others"
else
    be_pass "only the interface is exported"
fi
grep -v '@@BYTEEXPRESS_1$' "$BE_TMP/symbols" >"$BE_TMP/others"
if [ -s "$BE_TMP/others" ]; then
    be_fail "symbols without a version" "$BE_TMP/others"
else
    be_pass "every symbol has a version"
fi
if grep -q '^be::Channel::call(' "$BE_TMP/symbols"; then
    be_pass "the interface is there"
else
    be_fail "be::Channel::call is not exported" "$BE_TMP/symbols"
fi
be_finish
