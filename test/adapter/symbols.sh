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
grep -vE '^(be::|be_(alloc|allocator|free|free_sized|call|channel|part|reply|responder|runtime|server|status|stream)(_[a-z]+)*@|(typeinfo|typeinfo name|vtable) for be::(Allocator|Error)@)' "$BE_TMP/symbols" >"$BE_TMP/others"
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
for name in 'be::Channel::call(' 'be::Stream::write(' 'be::Allocator::trim(' 'be_channel_call@' 'be_stream_write_owned@' 'be_alloc@'; do
    if grep -qF "$name" "$BE_TMP/symbols"; then
        be_pass "exported: ${name%[(@]}"
    else
        be_fail "not exported: ${name%[(@]}" "$BE_TMP/symbols"
    fi
done
be_finish
