#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How the transport gets into a program, and how it stays out: be_run, the preloaded loader,
# another UCX release, what be_run says when something is missing, and the variables' help.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=be,self
be_start loader
be_need ucx_info ucx-utils
modules=${BE_MODULEDIR:-$BE_BUILDDIR/modules}
out=$BE_TMP/out
unset UCX_TLS UCX_PLUGIN_PATH LD_PRELOAD

# run STATUS COMMAND...: its output in $out; fails when it ends with another status.
run() {
    local wanted=$1 rc=0
    shift
    be_bounded 60 "$@" >"$out" 2>&1 </dev/null || rc=$?
    [ "$rc" = "$wanted" ] || echo "exit status $rc instead of $wanted" >>"$out"
    [ "$rc" = "$wanted" ]
}

# expect NAME STATUS-OF-THE-LAST-COMMAND
expect() {
    if [ "$2" = 0 ]; then be_pass "$1"; else be_fail "$1" "$out"; fi
}

transports() { # how often ucx_info names the transport
    grep -c 'Transport: be$' "$out"
}

loading() {
    run 0 ucx_info -d && [ "$(transports)" = 0 ]
    expect "without be_run: not there" $?
    run 0 "$BE_RUN" ucx_info -d && [ "$(transports)" -ge 1 ]
    expect "be_run: there" $?
    local once
    once=$(transports)
    if ! "$BE_RUN" env | grep -q '^UCX_PLUGIN_PATH='; then
        run 0 env LD_PRELOAD="$modules/libbe_preload.so" ucx_info -d && [ "$(transports)" = "$once" ]
        expect "libbe_preload.so alone: there" $?
        run 0 env LD_PRELOAD="$modules/libbe_preload.so:$modules/libuct_be.so.0" ucx_info -d &&
            [ "$(transports)" = "$once" ]
        expect "loader and plugin: registered once" $?
        run 0 env LD_PRELOAD="$modules/libbe_preload.so" "$BE_RUN" ucx_info -d &&
            [ "$(transports)" = "$once" ]
        expect "be_run twice: registered once" $?
    fi
    run 0 env LD_PRELOAD=libm.so.6 "$BE_RUN" env && grep -q '^LD_PRELOAD=.*libm.so.6' "$out"
    expect "what was preloaded before stays" $?
    run 0 "$BE_RUN" bash -c 'ls / >/dev/null && cat /dev/null && true' && [ ! -s "$out" ]
    expect "programs without UCX: nothing printed, nothing broken" $?
}

# Another release of UCX under the program: one line, and everything else as ever.
other_release() {
    local fake=$BE_TMP/libfake_ucp.so
    cat >"$BE_TMP/fake.c" <<'C'
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = 1;
    *minor = 12;
    *release = 7;
}
const char *ucp_get_version_string(void)
{
    return "1.12.7";
}
C
    if ! command -v gcc >/dev/null; then
        be_skip "another release of UCX" "no gcc"
        return
    fi
    gcc -shared -fPIC -o "$fake" "$BE_TMP/fake.c" || return
    run 0 env LD_PRELOAD="$fake" "$BE_RUN" ucx_info -d && [ "$(transports)" = 0 ] &&
        grep -q 'Transport: tcp$' "$out"
    expect "another release of UCX: not there, the others are" $?
    [ "$(grep -c 'built for UCX .*, running UCX 1\.12\.7' "$out")" = 1 ]
    expect "another release of UCX: one line says so" $?
}

environment() {
    run 0 "$BE_RUN" env && grep -qx 'UCX_TLS=be,self' "$out"
    expect "UCX_TLS=be,self by itself" $?
    run 0 env UCX_TLS=be "$BE_RUN" env && grep -qx 'UCX_TLS=be' "$out"
    expect "UCX_TLS of the caller stays" $?
    run 7 "$BE_RUN" sh -c 'exit 7'
    expect "exit status of the command" $?
    run 0 "$BE_RUN" printf '%s|%s|' 'a  b' '' && [ "$(cat "$out")" = 'a  b||' ]
    expect "arguments as they are" $?
    local launcher=${MPIRUN:-mpirun}
    if ! command -v "$launcher" >/dev/null; then
        be_skip "MPI environment" "no mpirun"
        return
    fi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    run 0 "$BE_RUN" "$launcher" --oversubscribe -np 1 env && grep -qx 'UCX_TLS=be,self' "$out" &&
        grep -qx 'OMPI_MCA_pml=ucx' "$out" && grep -qE '^(LD_PRELOAD|UCX_PLUGIN_PATH)=.*/' "$out"
    expect "MPI ranks get the variables" $?
}

complaints() {
    run 127 "$BE_RUN" no-such-program-anywhere && grep -q no-such-program-anywhere "$out"
    expect "a command that is not there is named" $?
    run 126 "$BE_RUN" "$BE_TMP" && grep -qF "$BE_TMP" "$out"
    expect "a command that cannot be run is named" $?
    run 125 "$BE_RUN" && grep -qi command "$out"
    expect "no command: says what is missing" $?
    run 125 "$BE_RUN" --no-such-option true && grep -q -e --no-such-option "$out"
    expect "an unknown option is named" $?
    # Alone, it has no modules beside it; those that configure named may be installed.
    mkdir "$BE_TMP/bin"
    cp "$BE_RUN" "$BE_TMP/bin/be_run"
    if run 125 env -u BE_MODULEDIR "$BE_TMP/bin/be_run" true; then
        grep -q 'libuct_be' "$out" && grep -qF "$BE_TMP" "$out"
        expect "without modules: says what was sought, and where" $?
    else
        run 0 env -u BE_MODULEDIR "$BE_TMP/bin/be_run" true
        expect "a copy of be_run finds the installed modules" $?
    fi
    run 0 "$BE_RUN" --help && grep -q Usage "$out"
    expect "--help" $?
    run 0 "$BE_RUN" --version && grep -qE '[0-9]+\.[0-9]+\.[0-9]+' "$out"
    expect "--version" $?
}

# Every UCX_BE_ variable has a sentence and the syntax of its values; each names itself when a
# value is no good.
variables() {
    local name count=0 bad=0
    run 0 "$BE_RUN" ucx_info -cf
    expect "ucx_info -cf" $?
    cp "$out" "$BE_TMP/config"
    awk '/^$/ { text = "" } /^#/ { text = text $0 }
        /^UCX_BE_[A-Z0-9_]*=/ && text !~ /[A-Za-z][a-z]+ .*syntax:/ { print; bad = 1 }
        END { exit bad }' "$BE_TMP/config" >"$out"
    expect "every variable has a sentence and a syntax" $?
    while read -r name; do
        count=$((count + 1))
        # Free text has no wrong value.
        if awk -v name="$name" '/^$/ { text = "" } /^#/ { text = text $0 }
            index($0, name "=") == 1 && text ~ /syntax: *(string|comma-separated)/ { found = 1 }
            END { exit !found }' "$BE_TMP/config"; then
            continue
        fi
        be_bounded 30 env "$name=-nonsense-" "$BE_RUN" ucx_info -d >"$out" 2>&1 </dev/null
        # UCX names the variable without its prefix.
        if ! grep -qE "(${name}|${name#UCX_BE_}|${name#UCX_}).*-nonsense-" "$out"; then
            be_fail "$name=-nonsense- is not named with its value" "$out"
            bad=1
        fi
    done < <(sed -n 's/^\(UCX_BE_[A-Z0-9_]*\)=.*/\1/p' "$BE_TMP/config" | sort -u)
    if [ "$count" -lt 10 ]; then
        be_fail "only $count UCX_BE_ variables"
    elif [ "$bad" = 0 ]; then
        be_pass "all $count variables name themselves and a wrong value"
    fi
}

loading
other_release
environment
complaints
variables
be_finish
