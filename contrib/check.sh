#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh - everything that is tested, from a fresh checkout to one closing line.
#
#   check.sh [--only STAGE[,STAGE...]]
#
# Stages: setup lint check sanitize rxe install dist. Each prints what it does, keeps its output in
# build/logs/ and adds its counts to the closing line "N passed, M failed, K skipped". With CI=true a
# missing tool or a skipped stage is a failure.
set -euo pipefail
# shellcheck source=contrib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

stages=setup,lint,check,sanitize,rxe,install,dist
case ${1:-} in
    '') ;;
    --only) stages=${2:?--only takes stages: $stages} ;;
    *) die "unknown argument '$1', expected --only STAGE[,STAGE...]" ;;
esac
for stage in ${stages//,/ }; do
    case $stage in
        setup | lint | check | sanitize | rxe | install | dist) ;;
        *) die "unknown stage '$stage', expected some of setup,lint,check,sanitize,rxe,install,dist" ;;
    esac
done
passed=0 failed=0 skipped=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# step NAME COMMAND...: one thing that passes or fails as a whole.
step() {
    if run_logged "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

# count_tests FOLDER: adds what the tests of a build tree counted themselves (Boost.Test, or the closing line of a
# script); one that counts nothing is one test. FOLDER/*/….trs say which ran.
count_tests() {
    local trs log result counts p f s
    while read -r trs; do
        log=${trs%.trs}.log
        result=$(sed -n 's/^:global-test-result: *//p' "$trs")
        counts=$(awk '
            match($0, /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/) { split($0, n, /[^0-9]+/); p = n[1]; f = n[2]; s = n[3]; own = 1 }
            /^Running [0-9]+ test cases?\.\.\.$/ { boost += $2 }
            / failures? (is|are) detected in the test module/ { bad += $2 }
            END { if (own) print p, f, s; else if (boost) print boost - bad, bad + 0, 0 }' "$log")
        case $result in
            PASS) read -r p f s <<<"${counts:-1 0 0}" ;;
            SKIP) read -r p f s <<<"0 0 1" ;;
            *) read -r p f s <<<"${counts:-0 1 0}"; [ "$f" != 0 ] || f=1 ;;
        esac
        if [ "$result" != PASS ]; then
            say "    $result ${trs#"$1"/}"
            [ "$result" = SKIP ] || tail -n 25 "$log" | sed 's/^/    | /'
        fi
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done < <(find "$1/test" "$1/contrib" -name '*.trs' 2>/dev/null | sort)
}

stage_setup() {
    say "Setting up (packages, UCX's headers, build)"
    "$top/contrib/setup.sh" --for check
}

stage_lint() {
    say "Reading the source"
    cd "$top"
    # shellcheck disable=SC2046
    step shellcheck shellcheck -x $(git ls-files '*.sh' .ci/run contrib/configure-devel contrib/configure-release)
    step format contrib/format.sh
}

stage_check() {
    say "Testing the build"
    cd "$build"
    find test contrib -name '*.trs' -delete 2>/dev/null || true
    step build-tests make -j"$(nproc)" check TESTS=
    run_logged tests make check || true
    count_tests "$build"
}

# The parts of the suite that a sanitizer build runs: everything that does not start UCX's or MPI's own programs,
# which are not built with the sanitizer.
sanitized='test/unit/% test/engine/% test/control/% test/fuzz/% test/uct/%_test test/verbs/%_test'

stage_sanitize() {
    local tree=$build/asan
    say "Testing under AddressSanitizer and UndefinedBehaviorSanitizer"
    mkdir -p "$tree"
    cd "$tree"
    [ -x config.status ] || step asan-configure "$top/configure" --enable-asan --enable-ubsan
    step asan-build make -j"$(nproc)" check TESTS=
    find . -name '*.trs' -delete
    run_logged asan-tests make check TESTS="$(make -s print-tests FILTER="$sanitized")" || true
    count_tests "$tree"
}

# counted NAME SCRIPT: a test script that counts itself in its last line.
counted() {
    local p=0 f=1 s=0
    BE_BUILDDIR=$build BE_SRCDIR=$top BE_RUN=$build/src/tools/be_run run_logged "$1" bash "$top/$2" || true
    read -r p f s < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
        "$logs/$1.log" | tail -n 1) || true
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
}

stage_rxe() {
    say "Testing on soft-RoCE in a guest kernel"
    counted rxe test/rxe/run.sh
}

stage_install() {
    say "Testing an installation"
    counted install test/install/run.sh
}

stage_dist() {
    say "Building from the release archive"
    cd "$build"
    # The archive builds, installs, uninstalls and cleans up; its tests are those that have run above.
    step distcheck make distcheck \
        AM_DISTCHECK_CONFIGURE_FLAGS="$("$build/config.status" --config | grep -o -- "--with-ucx-src=[^ ']*" || true) --with-ucx-src=$top/.ucx-src --disable-tests"
}

start=$SECONDS
for stage in ${stages//,/ }; do
    before=$SECONDS
    "stage_$stage"
    say "  $stage took $((SECONDS - before)) s; so far $passed passed, $failed failed, $skipped skipped"
done
say "All stages took $((SECONDS - start)) s"
if [ "${CI:-}" = true ] && [ "$skipped" != 0 ]; then
    say "In CI nothing may be skipped: $skipped counted as failed"
    failed=$((failed + skipped)) skipped=0
fi
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
