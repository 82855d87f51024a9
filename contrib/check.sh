#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [--only STAGE[,STAGE...]] - everything that must hold, from a fresh checkout on
# Debian or Ubuntu to one closing line.
#
#   setup     packages, UCX's source, the build
#   lint      shellcheck on every script, the format of every source file
#   check     make check: layers, file sizes, units, transport, perftest, MPI, faults
#   sanitize  the test programs built by clang with Address- and UndefinedBehaviorSanitizer
#   rxe       the transport between two soft-RoCE devices in a guest kernel
#   install   what `make install` installs, run from where it was installed
#   dist      make distcheck
# and, only where it is named:
#   races     the software device, recovery and the adapter, built by clang with ThreadSanitizer
#
# The last line is "N passed, M failed, K skipped"; the exit status says whether M is 0.
# Logs are in build/logs/. With CI=true nothing may be skipped for want of a tool.
set -euo pipefail
# shellcheck source=contrib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

stages=setup,lint,check,sanitize,rxe,install,dist
case "${1:-} $#" in
    " 0") chosen=$stages ;;
    "--only 2") chosen=$2 ;;
    *) die "usage: check.sh [--only STAGE[,STAGE...]], stages: $stages,races" ;;
esac
for stage in ${chosen//,/ }; do
    [[ ,$stages,races, == *,$stage,* ]] || die "unknown stage '$stage', there are $stages,races"
done

passed=0 failed=0 skipped=0
failures=() cases=()
jobs=-j$(nproc)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# read by contrib/test-counts.sh
export BOOST_TEST_REPORT_LEVEL=short BOOST_TEST_COLOR_OUTPUT=0

# add NAME PASSED FAILED SKIPPED
add() {
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    [ "$3" = 0 ] || failures+=("$1: $3")
}

# blame LOG: the cases that failed by it are named again at the end.
blame() {
    local line
    while read -r line; do
        cases+=("$(basename "$1" .log): ${line:0:200}")
    done < <(grep -E '^FAIL |: (fatal )?error: in ' "$1" | sed 's|^[^ ]*/||' | head -n 5)
}

# step NAME COMMAND...: passes or fails as a whole.
step() {
    if run_logged "$@"; then add "$1" 1 0 0; else add "$1" 0 1 0; return 1; fi
}

# counted NAME SECONDS SCRIPT: a test script that ends with the line of totals.
counted() {
    local status=0 p=0 f=0 s=0
    run_logged "$1" env BE_BUILDDIR="$build" BE_SRCDIR="$top" BE_RUN="$build/src/tools/be_run" \
        BE_MODULEDIR="$build/modules" timeout -k 10 "$2" bash "$top/$3" || status=$?
    read -r p f s < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
        "$logs/$1.log" | tail -n 1) || f=1
    [ "$status" = 0 ] || [ "$f" != 0 ] || f=1
    [ "$f" = 0 ] || blame "$logs/$1.log"
    add "$1" "$p" "$f" "$s"
}

# suite NAME TREE SECONDS [TESTS]: `make check` in TREE, of all tests or of these. Two at once: most of them wait for
# something most of the time, and none may depend on having the machine to itself.
suite() {
    local name=$1 tree=$2 status=0 results=() p f s
    local arguments=(check ${4:+TESTS="$4"})
    find "$tree/test" "$tree/contrib" -name '*.trs' -delete 2>/dev/null || true
    timeout -k 10 "$3" make -C "$tree" -j2 "${arguments[@]}" </dev/null 2>&1 |
        tee "$logs/$name.log" | sed -un 's/^\(PASS\|FAIL\|SKIP\|ERROR\):/    \1/p' || status=$?
    while read -r result; do
        results+=("$result")
        if grep -qE '^:test-result: (FAIL|ERROR|SKIP)' "$result"; then
            show_end "${result%.trs}.log" 40
            blame "${result%.trs}.log"
        fi
    done < <(find "$tree/test" "$tree/contrib" -name '*.trs' 2>/dev/null | sort)
    read -r p f s < <("$top/contrib/test-counts.sh" "${results[@]}")
    # make did not get as far as its tests, or not to their end
    if [ "$status" != 0 ] && [ "$f" = 0 ] || [ ${#results[@]} = 0 ]; then
        f=1
        show_end "$logs/$name.log" 40
    fi
    add "$name" "$p" "$f" "$s"
}

show_end() {
    say "    --- the end of $1:"
    tail -n "$2" "$1" | sed 's/^/    | /'
}

stage_setup() {
    if "$top/contrib/setup.sh" --for check; then add setup 1 0 0; else add setup 0 1 0; return 1; fi
}

list_scripts() {
    git ls-files -z | xargs -0 grep -lIE '^#!/bin/(ba)?sh|^# shellcheck shell=' --
}

stage_lint() {
    cd "$top"
    # shellcheck disable=SC2046
    step shellcheck shellcheck -x $(list_scripts) || true
    step format contrib/format.sh || true
}

stage_check() {
    step build-tests make -C "$build" "$jobs" check TESTS= || return 0
    suite tests "$build" 2400
}

# configure_sanitized TREE SANITIZER...
configure_sanitized() {
    local tree=$1
    shift
    mkdir -p "$tree"
    cd "$tree"
    # clang: a second opinion on the code, and it brings libFuzzer. Reports need the lines only.
    [ -x config.status ] || "$top/configure" CC=clang CXX=clang++ CFLAGS=-g1 CXXFLAGS=-g1 \
        "${@/#/--enable-}" --enable-debug --enable-werror
}

# kill_some NAME TREE: processes that are killed at work, on the device of that tree.
kill_some() {
    local domain=check-$$
    step "$1" env SOFTRDMA_DOMAIN="$domain" SOFTRDMA_LIBRARY="$2/src/softrdma/.libs/libsoftrdma.so" \
        timeout -k 10 300 "$2/test/verbs/crash/crash_test" --kills 20 || true
    rm -f /dev/shm/softrdma*-"$domain"
}

stage_sanitize() {
    local tree=$build/sanitizers
    step sanitizers-configure configure_sanitized "$tree" asan ubsan || return 0
    step sanitizers-build make -C "$tree" "$jobs" check TESTS= || return 0
    # Scripts start UCX's and MPI's own programs, which have no sanitizer.
    suite sanitizers "$tree" 1200 "$(make -s -C "$tree" print-tests FILTER_OUT='%.sh')"
    kill_some sanitizers-kills "$tree"
}

stage_races() {
    local tree=$build/races domain=races-$$ suite test
    local fallback=(test/engine/{fallback,fallback_cases,fallback_hostile,tcp_parts}_test)
    step races-configure configure_sanitized "$tree" tsan || return 0
    step races-build make -C "$tree" "$jobs" all || return 0
    step races-tests make -C "$tree" "$jobs" test/verbs/softrdma_test test/verbs/crash/crash_test \
        test/fault/chaos test/adapter/api_test "${fallback[@]}" || return 0
    # Tests fork: what runs on in the child is the test's, not a thread of the parent.
    export TSAN_OPTIONS=die_after_fork=0:atexit_sleep_ms=0
    export BE_BUILDDIR=$tree BE_MODULEDIR=$tree/modules SOFTRDMA_DOMAIN=$domain
    export SOFTRDMA_LIBRARY=$tree/src/softrdma/.libs/libsoftrdma.so
    step races-device timeout -k 10 600 "$tree/test/verbs/softrdma_test" || true
    step races-chaos timeout -k 10 300 "$tree/test/fault/chaos" --seconds 30 || true
    step races-chaos-fallback timeout -k 10 300 "$tree/test/fault/chaos" --seconds 30 --fallback tcp || true
    for test in "${fallback[@]}"; do
        step "races-$(basename "$test")" timeout -k 10 600 "$tree/$test" || true
    done
    for suite in calls servers failures exchanges hostile streams parameters idle; do
        step "races-$suite" env UCX_TLS=be,self timeout -k 10 300 "$tree/src/tools/be_run" -- \
            "$tree/test/adapter/api_test" "--run_test=$suite" || true
    done
    rm -f /dev/shm/softrdma*-"$domain"
    kill_some races-kills "$tree"
    unset TSAN_OPTIONS BE_BUILDDIR BE_MODULEDIR SOFTRDMA_DOMAIN SOFTRDMA_LIBRARY
}

stage_rxe() { counted rxe 2900 test/rxe/run.sh; }

stage_install() { counted install 600 test/install/run.sh; }

# The release archive builds, installs, uninstalls and cleans up. The tests have just run on the same sources,
# optimised, so nothing that is built here is used.
stage_dist() {
    step distcheck timeout -k 10 1500 make -C "$build" "$jobs" distcheck \
        DISTCHECK_CONFIGURE_FLAGS="--disable-tests CFLAGS='-O0 -g0' CXXFLAGS='-O0 -g0'" || return 0
    step archive check_archive || true
}

# Every file of the repository is in the release archive, but for git's and CI's own.
check_archive() {
    local missing
    missing=$(comm -23 <(git -C "$top" ls-files | grep -vE '^(\.gitignore|\.ci/)' | sort) \
        <(tar -tzf "$build"/ucx-be-*.tar.gz | sed 's|^[^/]*/||' | sort))
    [ -z "$missing" ] || {
        printf 'not in the archive (EXTRA_DIST):\n%s\n' "$missing"
        return 1
    }
}

start=$SECONDS
mkdir -p "$logs"
say "ByteExpress for UCX: checking (logs in ${logs#"$PWD"/})"
for stage in ${chosen//,/ }; do
    before=$SECONDS
    say "$stage"
    "stage_$stage" || break
    say "  $stage took $((SECONDS - before)) s; so far $passed passed, $failed failed, $skipped skipped"
done

say ""
say "took $((SECONDS - start)) s"
for failure in "${failures[@]}"; do say "failed in $failure"; done
for case in "${cases[@]}"; do say "  $case"; done
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
