#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every tool knows its version, names what it does not understand, and has a manual that
# names every option.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

# shellcheck disable=SC2034 # for the harness
BE_TEST_TLS=none
be_start arguments
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' "$BE_BUILDDIR/be_config.h")

# check NAME STATUS
check() {
    if [ "$2" = 0 ]; then be_pass "$1"; else be_fail "$1" "$BE_TMP/out"; fi
}

# tool PATH: of one that has a manual
tool() {
    local name=${1##*/} path=$BE_BUILDDIR/$1 manual rc
    manual=$BE_SRCDIR/docs/man/$name.1
    be_bounded 20 "$path" --version >"$BE_TMP/out" 2>&1 </dev/null &&
        grep -qx "$name $version" "$BE_TMP/out"
    check "$name --version" $?
    rc=0
    be_bounded 20 "$path" --nonsense >"$BE_TMP/out" 2>&1 </dev/null || rc=$?
    [ "$rc" -gt 0 ] && [ "$rc" -lt 126 ] && grep -q -e --nonsense "$BE_TMP/out"
    check "$name names an unknown option" $?
    be_bounded 20 "$path" --help >"$BE_TMP/help" 2>&1 </dev/null
    check "$name --help" $?
    grep -oE '^ +(-[a-z], ?)?--[a-z-]+(,--[a-z-]+)*' "$BE_TMP/help" | grep -oE -e '--?[a-z][a-z-]*' | sort -u >"$BE_TMP/options"
    rc=0
    : >"$BE_TMP/out"
    while read -r option; do
        sed 's/\\-/-/g' "$manual" | grep -qE -e "(^|[ \"])${option}( |\"|$)" || {
            echo "$manual does not name $option" >>"$BE_TMP/out"
            rc=1
        }
    done <"$BE_TMP/options"
    [ -s "$BE_TMP/options" ] && [ $rc = 0 ]
    check "the manual of $name has every option" $?
}

tool src/tools/be_info
tool src/tools/be_run
[ ! -x "$BE_BUILDDIR/src/tools/be_perf" ] || tool src/tools/be_perf

# arguments that no option takes
be_bounded 20 "$BE_BUILDDIR/src/tools/be_info" --stats nobody >"$BE_TMP/out" 2>&1
[ $? = 2 ] && grep -q -e "--stats" "$BE_TMP/out" && grep -q nobody "$BE_TMP/out"
check "be_info --stats nobody" $?
be_bounded 20 "$BE_BUILDDIR/src/tools/be_info" --stats 1 --doctor >"$BE_TMP/out" 2>&1
[ $? = 2 ] && grep -q -e "--doctor" "$BE_TMP/out"
check "be_info --stats with --doctor" $?
be_bounded 20 "$BE_RUN" --device >"$BE_TMP/out" 2>&1
[ $? = 125 ] && grep -q -e "--device" "$BE_TMP/out"
check "be_run --device without one" $?
be_finish
