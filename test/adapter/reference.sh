#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every public symbol of libbyteexpress is documented, and no comment is one that doxygen does not understand.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=none
be_start adapter-reference
be_need doxygen doxygen
headers=src/adapter/include/byteexpress

# reference TREE: of the headers there.
reference() {
    cd "$1" && { cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = \"$BE_TMP/out\"" &&
        echo 'WARN_AS_ERROR = FAIL_ON_WARNINGS'; } | doxygen -
}
export -f reference
export BE_TMP

be_case "every public symbol is documented" 60 bash -c "reference '$BE_SRCDIR'"
pages=$(find "$BE_TMP/out/html" -name '*.html' | wc -l)
if grep -q be_stream_write_owned "$BE_TMP/out/html/stream_8h.html" && [ "$pages" -gt 50 ]; then
    be_pass "the reference has $pages pages"
else
    be_fail "the reference has $pages pages, more than 50 were expected"
fi

# That one which is not would be noticed, of each kind of header.
mkdir -p "$BE_TMP/tree/docs" "$BE_TMP/tree/$headers"
cp "$BE_SRCDIR"/docs/Doxyfile "$BE_SRCDIR"/docs/doxygen.awk "$BE_TMP/tree/docs"
noticed() { # noticed HEADER LINE NAME: LINE, put behind the header's last declaration
    cp "$BE_SRCDIR/$headers"/* "$BE_TMP/tree/$headers"
    awk -v line="$2" '/^} \/\/ namespace be$/ { print line "\n" } { print } /^BE_API .* be_call_destroy/ { print "\n" line }' \
        "$BE_SRCDIR/$headers/$1" >"$BE_TMP/tree/$headers/$1"
    if reference "$BE_TMP/tree" >"$BE_TMP/noticed.log" 2>&1; then
        be_fail "not noticed: $3 of $1"
    elif grep -q "$3.* is not documented" "$BE_TMP/noticed.log"; then
        be_pass "noticed: $3 of $1"
    else
        be_fail "something else than $3 of $1" "$BE_TMP/noticed.log"
    fi
}
noticed channel.hpp 'class BE_API Nobody { public: void nothing(); };' be::Nobody
noticed buffer.hpp 'BE_API int nothing();' nothing
noticed stream.h 'BE_API int be_nothing(void);' be_nothing
be_finish
