#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is installed works where it is installed: `make install DESTDIR=…`, then everything from that tree alone.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

BE_TEST_TLS=be,self
BE_RUN=${BE_RUN:-$BE_BUILDDIR/src/tools/be_run}
be_start install
be_need make make
root=$BE_TMP/root
be_case "make install into an empty tree" 300 make -C "$BE_BUILDDIR" install "DESTDIR=$root"

installed() { # installed PATTERN...: each matches something in the tree
    local pattern
    for pattern in "$@"; do
        if [ -n "$(find "$root" -path "$pattern" -print -quit)" ]; then
            be_pass "installed: ${pattern##*/}"
        else
            be_fail "not installed: $pattern"
        fi
    done
}
installed '*/bin/be_run' '*/bin/be_info' '*/ucx/libuct_be.so.0' '*/ucx/libbe_preload.so' \
    '*/ucx/libsoftrdma.so' '*/pkgconfig/ucx-be.pc' '*/lib*/libbyteexpress.so.0' \
    '*/include/byteexpress/byteexpress.hpp' '*/include/byteexpress/stream.h' '*/pkgconfig/byteexpress.pc' '*/bin/be_perf'

# Nothing of the build tree may be needed: be_run finds the modules beside itself.
BE_RUN=$(find "$root" -path '*/bin/be_run' -print -quit)
BE_PREFIX=(env "UCX_TLS=$BE_TEST_TLS" "${BE_RUN:-false}")
unset BE_MODULEDIR

be_case "be_run --version" 20 "$BE_RUN" --version
be_case "be_info" 20 "$(dirname "$BE_RUN")/be_info"
if "${BE_PREFIX[@]}" ucx_info -d >"$BE_TMP/info.log" 2>&1 && grep -q 'Transport: be' "$BE_TMP/info.log"; then
    be_pass "ucx_info lists the transport"
else
    be_fail "ucx_info does not list the transport" "$BE_TMP/info.log"
fi
for test in tag_lat ucp_put_lat ucp_get ucp_am_lat; do
    rc=0
    perf_pair 60 -f -t "$test" -s 1000 -n 1000 || rc=$?
    be_verdict "ucx_perftest $test" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
done

# UCX's examples, from that tree.
rc=0
BE_RUN=$BE_RUN BE_TEST_TLS=$BE_TEST_TLS be_bounded 300 bash "$BE_SRCDIR/test/examples/run.sh" \
    >"$BE_TMP/examples.log" 2>&1 </dev/null || rc=$?
grep -v '^[0-9]* passed, ' "$BE_TMP/examples.log"
be_totals "$BE_TMP/examples.log" || be_verdict examples "$rc" 300 "$BE_TMP/examples.log"

# An application that links the transport by pkg-config needs no loading at all.
# shellcheck disable=SC2317 # be_case calls it
linked() {
    local pc flags
    pc=$(find "$root" -path '*/pkgconfig/ucx-be.pc')
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --static --cflags --libs \
        --define-variable=prefix="${pc%/lib*}" ucx-be) || return 1
    # shellcheck disable=SC2086
    "${CC:-gcc}" -o "$BE_TMP/linked" "$BE_SRCDIR/test/install/linked.c" $flags && "$BE_TMP/linked"
}

# So do services that use the adapter, in C++ and in C.
# shellcheck disable=SC2317 # be_case calls it
service() {
    local pc flags
    pc=$(find "$root" -path '*/pkgconfig/byteexpress.pc')
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs \
        --define-variable=prefix="${pc%/lib*}" byteexpress) || return 1
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++20 -o "$BE_TMP/hello_rpc" "$BE_SRCDIR/examples/hello_rpc.cpp" $flags \
        "-Wl,-rpath,${pc%/pkgconfig*}" && $BE_PREFIX_TEXT "$BE_TMP/hello_rpc" || return 1
    # shellcheck disable=SC2086
    "${CC:-gcc}" -std=c99 -o "$BE_TMP/hello" "$BE_SRCDIR/examples/hello.c" $flags \
        "-Wl,-rpath,${pc%/pkgconfig*}" && $BE_PREFIX_TEXT "$BE_TMP/hello"
}
export -f linked service
export root BE_TMP BE_SRCDIR
be_case "linked by pkg-config" 60 bash -c linked
be_case "be_perf" 60 "$(dirname "$BE_RUN")/be_perf" rpc --pairs 1 --duration 0.1
export BE_PREFIX_TEXT="${BE_PREFIX[*]}"
be_case "services linked by pkg-config" 120 bash -c service
be_finish
