# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the system tests share: bounded cases, one result line for each, a summary and
# exit codes that automake understands (0 passed, 1 failed, 77 skipped).
#
#   . "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
#   be_start NAME                        # reads the variables below, makes $BE_TMP
#   be_need TOOL [DEBIAN-PACKAGE]        # skips the whole test when TOOL is missing
#   be_case NAME SECONDS COMMAND...      # runs COMMAND; ok when it exits 0 in time
#   be_finish                            # prints the totals and exits
#
# Variables of the caller
#   BE_TEST_TLS   transports under test (default be,self); tcp,self or posix,cma,self
#                 run the same tests on UCX's own transports
#   BE_RUN        path of be_run; needed when BE_TEST_TLS names be
#   BE_BUILDDIR, BE_SRCDIR  top of the build and source trees (default: from this file)
#   CI            true: a missing tool is a failure, not a skip

set -u -o pipefail

BE_TEST_TLS=${BE_TEST_TLS:-be,self}
BE_RUN=${BE_RUN:-}
BE_SRCDIR=${BE_SRCDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)}
BE_BUILDDIR=${BE_BUILDDIR:-$BE_SRCDIR}
BE_TMP=
be_passed=0 be_failed=0 be_skipped=0
be_children=()
be_pid=
BE_PREFIX=()

# The transport under test is ours (and not one of UCX's own).
be_is_be() { [[ ,$BE_TEST_TLS, == *,be,* ]]; }

be_cleanup() {
    local pid
    for pid in "${be_children[@]}"; do
        kill -KILL "$pid" 2>/dev/null
    done
    [ -z "$BE_TMP" ] || rm -rf "$BE_TMP"
}

# be_start NAME: temporary folder, environment, BE_PREFIX (what every program is run under).
be_start() {
    be_name=$1
    BE_TMP=$(mktemp -d "${TMPDIR:-/tmp}/be-$be_name.XXXXXX") || exit 1
    trap be_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    export LC_ALL=C UCX_WARN_UNUSED_ENV_VARS=n
    BE_PREFIX=(env "UCX_TLS=$BE_TEST_TLS")
    if be_is_be; then
        if [ ! -x "$BE_RUN" ]; then
            be_abort "be_run is not built (BE_RUN='$BE_RUN')"
        fi
        BE_PREFIX+=("$BE_RUN")
    fi
    echo "# $be_name on UCX_TLS=$BE_TEST_TLS"
}

# be_abort REASON: the whole test cannot run; under CI that is a failure.
be_abort() {
    if [ "${CI:-}" = true ]; then
        echo "FAIL ${be_name:-test}: $1"
        exit 1
    fi
    echo "skip ${be_name:-test}: $1"
    exit 77
}

be_need() {
    command -v "$1" >/dev/null && return 0
    be_abort "$1 is missing${2:+ (Debian package $2)}"
}

be_pass() {
    be_passed=$((be_passed + 1))
    echo "ok $1"
}

# be_fail NAME [FILE...]: the files' ends are shown.
be_fail() {
    local file
    be_failed=$((be_failed + 1))
    echo "FAIL $1"
    shift
    for file in "$@"; do
        [ ! -s "$file" ] || tail -n 40 "$file" | sed 's/^/    | /'
    done
}

be_skip() {
    if [ "${CI:-}" = true ]; then
        be_fail "$1 (skipped: $2)"
        return
    fi
    be_skipped=$((be_skipped + 1))
    echo "skip $1: $2"
}

# be_bounded SECONDS COMMAND...: the command (and its process group) is killed in the end.
be_bounded() {
    local limit=$1
    shift
    timeout -k 5 "$limit" "$@"
}

be_case() {
    local name=$1 limit=$2 log=$BE_TMP/case.log rc=0
    shift 2
    be_bounded "$limit" "$@" >"$log" 2>&1 </dev/null || rc=$?
    be_verdict "$name" "$rc" "$limit" "$log"
}

# be_verdict NAME EXIT-STATUS SECONDS LOG...: the result line of a command that has ended.
be_verdict() {
    local name=$1 rc=$2 limit=$3
    shift 3
    case $rc in
        0) be_pass "$name" ;;
        77) be_skip "$name" "$(tail -n 1 "$1")" ;;
        124 | 137) be_fail "$name (no end within $limit s)" "$@" ;;
        *) be_fail "$name (exit status $rc)" "$@" ;;
    esac
    [ "$rc" = 0 ]
}

# be_totals LOG: adds the "N passed, M failed, K skipped" of a program that counted itself.
be_totals() {
    local p f s
    read -r p f s < <(sed -n \
        's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$1" |
        tail -n 1) || return 1
    be_passed=$((be_passed + p))
    be_failed=$((be_failed + f))
    be_skipped=$((be_skipped + s))
}

# be_program SECONDS COMMAND...: a test program that prints its own result lines and totals.
be_program() {
    local limit=$1 log=$BE_TMP/program.log rc=0 label
    shift
    label=$(basename "$1")
    be_bounded "$limit" "${BE_PREFIX[@]}" "$@" >"$log" 2>&1 </dev/null || rc=$?
    grep -v '^[0-9]* passed, [0-9]* failed' "$log"
    case $rc in
        0 | 1) be_totals "$log" || be_fail "$label (exit status $rc, no totals)" ;;
        124 | 137) be_totals "$log"; be_fail "$label (no end within $limit s)" ;;
        *) be_totals "$log"; be_fail "$label (exit status $rc)" ;;
    esac
}

# be_spawn COMMAND...: starts a background process of ours; its id is in $be_pid.
# Redirect the call; be_reap waits for it.
be_spawn() {
    "$@" </dev/null &
    be_pid=$!
    be_children+=("$be_pid")
}

# be_reap PID SECONDS: exit status of a background process of ours, killed when late.
be_reap() {
    local pid=$1 rc=0 kept=() child
    if timeout "$2" tail --pid="$pid" -s 0.02 -f /dev/null; then
        wait "$pid" 2>/dev/null || rc=$?
    else
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        rc=124
    fi
    for child in "${be_children[@]}"; do
        [ "$child" = "$pid" ] || kept+=("$child")
    done
    be_children=("${kept[@]}")
    return "$rc"
}

be_finish() {
    echo "$be_passed passed, $be_failed failed, $be_skipped skipped"
    [ "$be_failed" = 0 ] || exit 1
    [ "$be_passed" != 0 ] || exit 77
    exit 0
}
