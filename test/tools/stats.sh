#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The counters of a running process (be_info --stats) and of one that has ended (be_run --stats).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

info=$BE_BUILDDIR/src/tools/be_info
program=$BE_BUILDDIR/test/tools/stats_program
# shellcheck disable=SC2034 # for the harness
BE_TEST_TLS=be,self
be_start stats
export XDG_RUNTIME_DIR=$BE_TMP

# say NAME CONDITION-STATUS [FILE]
say() {
    if [ "$2" = 0 ]; then be_pass "$1"; else be_fail "$1" "${3:-$BE_TMP/out}"; fi
}

# value NAME: of the first interface that has counted it, in the JSON on stdin.
value() {
    python3 -c 'import json, sys
interfaces = json.load(sys.stdin)["interfaces"]
print(max(i["metrics"][sys.argv[1]] for i in interfaces))' "$1"
}
be_need python3 python3

mkfifo "$BE_TMP/to" "$BE_TMP/from"
"${BE_PREFIX[@]}" "$program" <"$BE_TMP/to" >"$BE_TMP/from" 2>"$BE_TMP/log" &
be_children+=($!)
exec 5>"$BE_TMP/to" 6<"$BE_TMP/from"
read -r -t 30 process <&6
say "the program runs" $? "$BE_TMP/log"

"$info" --stats "$process" >"$BE_TMP/out" 2>&1
say "counters are there" $?
grep -q "messages_sent .* active messages posted" "$BE_TMP/out"
say "and explained" $?
[ "$(stat -c %a "$BE_TMP/byteexpress")" = 700 ]
say "in a folder that nobody else may enter" $?
before=$("$info" --stats "$process" --json | value messages_sent)
echo more >&5
read -r -t 30 _ <&6
after=$("$info" --stats "$process" --json | value messages_sent)
echo "$before then $after" >"$BE_TMP/out"
[ "$after" -ge $((before + 100)) ]
say "they go on" $?
for _ in 1 2 3 4 5 6 7 8; do "$info" --stats "$process" --json >/dev/null || break; done
say "many may ask" $?

kill -KILL "$process"
exec 5>&- 6<&-
wait "${be_children[0]}" 2>/dev/null
"${BE_PREFIX[@]}" "$program" </dev/null >"$BE_TMP/out" 2>&1
say "the next process runs" $?
[ -z "$(ls "$BE_TMP/byteexpress")" ]
say "nothing is left, not even of the one that was killed" $?
"$info" --stats "$process" >"$BE_TMP/out" 2>&1
[ $? = 1 ] && grep -q "process $process has no counters in $BE_TMP/byteexpress" "$BE_TMP/out"
say "a process without counters is named" $?

# Files that others have made up.
size=$(stat -c %s /proc/self/exe)
head -c "$size" /dev/urandom >"$BE_TMP/byteexpress/77-0.stats"
ln -s /etc/passwd "$BE_TMP/byteexpress/77-1.stats"
mkfifo "$BE_TMP/byteexpress/77-2.stats"
timeout 20 "$info" --stats 77 >"$BE_TMP/out" 2>&1
[ $? = 1 ]
say "made-up files are not believed" $?
rm -f "$BE_TMP/byteexpress/"77-*

env UCX_TLS=be,self "$BE_RUN" --stats "$program" </dev/null >"$BE_TMP/stdout" 2>"$BE_TMP/out"
say "be_run --stats hands the exit status on" $?
grep -q "^Process [0-9]*, softrdma0:1" "$BE_TMP/out" && grep -q "messages_sent" "$BE_TMP/out"
say "be_run --stats prints what was counted" $?
! grep -q messages_sent "$BE_TMP/stdout"
say "and not to stdout" $?
"$BE_RUN" --stats sh -c 'exit 7' >"$BE_TMP/out" 2>&1
[ $? = 7 ] && grep -q "no process of this command on this machine has used be" "$BE_TMP/out"
say "be_run --stats without any use of be" $?
"$BE_RUN" --stats sh -c 'kill -9 $$' >"$BE_TMP/out" 2>&1
[ $? = 137 ]
say "be_run --stats of a command that was killed" $?
"$BE_RUN" --stats /nonexistent/program >"$BE_TMP/out" 2>&1
[ $? = 127 ]
say "be_run --stats of a command that is not there" $?

env UCX_BE_STATS=no XDG_RUNTIME_DIR="$BE_TMP" "${BE_PREFIX[@]}" "$program" </dev/null >"$BE_TMP/out" 2>&1 &&
    [ -z "$(ls "$BE_TMP/byteexpress")" ]
say "UCX_BE_STATS=no" $?
rm -rf "$BE_TMP/byteexpress"
mkdir -m 755 "$BE_TMP/byteexpress"
"${BE_PREFIX[@]}" "$program" </dev/null >"$BE_TMP/out" 2>&1 && [ -z "$(ls "$BE_TMP/byteexpress")" ]
say "a folder that others can read is not used, and be works" $?
be_finish
