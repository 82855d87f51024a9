#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# be_perf: every workload measures something and finds its content right; what it prints can be read by
# programs; bad usage is named.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

BE_TEST_TLS=be,self
be_start perf
perf=$BE_BUILDDIR/src/tools/be_perf
short=(--pairs 1 --duration 0.1 --warm-up 0.02)

for workload in fetch push incast rpc mixed; do
    be_case "$workload beside tcp" 60 "$perf" "$workload" --baseline tcp "${short[@]}" --clients 2
    if grep -q '^  p99, us .*[1-9]' "$BE_TMP/case.log"; then
        be_pass "$workload has a p99"
    else
        be_fail "$workload has no p99" "$BE_TMP/case.log"
    fi
done
# Once warm, nobody registers memory: neither the adapter, whose heap has grown to what it needs, nor UCP for it.
for workload in fetch push rpc; do
    "$perf" "$workload" --pairs 1 --duration 1 --warm-up 2 --clients 2 --format json >"$BE_TMP/out.json" 2>"$BE_TMP/err"
    python3 - "$BE_TMP/out.json" >"$BE_TMP/out" 2>&1 <<'PY'
import json, sys
for run in json.load(open(sys.argv[1]))['runs']:
    print(run['total']['operations'], 'operations,', run['registrations'], 'registrations')
    assert run['total']['operations'] > 0 and run['registrations'] == 0
PY
    be_verdict "$workload registers nothing once it is warm" $? 0 "$BE_TMP/out" "$BE_TMP/err"
done
be_case "soak" 120 "$perf" soak --duration 2 --clients 2
if grep -q '^soak: [1-9].* 0 failed, 0 wrong' "$BE_TMP/case.log" && grep -q 'a process gained up to' "$BE_TMP/case.log"; then
    be_pass "soak tells how it goes on"
else
    be_fail "soak does not tell how it goes on" "$BE_TMP/case.log"
fi
rc=0
"$perf" soak --duration 1 --warm-up 0 --max-growth 1 >"$BE_TMP/out" 2>&1 || rc=$?
if [ $rc = 1 ] && grep -q 'expected at most 1 and 16' "$BE_TMP/out"; then
    be_pass "soak fails when a process grows"
else
    be_fail "soak ends with status $rc when a process grows" "$BE_TMP/out"
fi
be_need gnuplot gnuplot-nox
be_case "plot" 60 "$perf" rpc "${short[@]}" --plot "$BE_TMP/plot.svg"
if grep -q '<svg' "$BE_TMP/plot.svg" && grep -q '>be<' "$BE_TMP/plot.svg"; then
    be_pass "the plot is a picture with a name"
else
    be_fail "the plot is no picture" "$BE_TMP/plot.svg"
fi
be_case "open loop" 60 "$perf" rpc "${short[@]}" --rate 200
be_case "event driven" 60 "$perf" rpc "${short[@]}" --progress event

"$perf" rpc --baseline tcp "${short[@]}" --format json >"$BE_TMP/out.json" 2>"$BE_TMP/err"
for key in copied_bytes credit_us bytes_us window_us rnr registrations pauses schema_version library options settings ratios runs cpu_us; do
    grep -q "\"$key\"" "$BE_TMP/out.json" || be_fail "JSON has no $key" "$BE_TMP/out.json"
done
be_case "JSON is JSON" 20 python3 -m json.tool "$BE_TMP/out.json"
python3 - "$BE_TMP/out.json" >"$BE_TMP/out" 2>&1 <<'PY'
import json, sys
runs = {run['transport']: run for run in json.load(open(sys.argv[1]))['runs']}
print(runs)
assert runs['be']['rnr'] == 0 and runs['be']['credit_us'] is not None
assert runs['tcp']['rnr'] is None and runs['tcp']['credit_us'] is None
PY
be_verdict "what be counts is there for be only" $? 0 "$BE_TMP/out"
lines=$("$perf" rpc --baseline tcp --pairs 2 "${short[@]:2}" --format csv | awk -F, 'NF == 18' | wc -l)
if [ "$lines" = 5 ]; then
    be_pass "CSV has a line for each run"
else
    be_fail "CSV has $lines lines of 18 fields, expected 5"
fi

# refused NAME PART ARGUMENT...: exit status 2, and the message has PART.
refused() {
    local name=$1 part=$2 rc=0
    shift 2
    "$perf" "$@" >"$BE_TMP/out" 2>&1 || rc=$?
    if [ $rc = 2 ] && grep -qF -- "$part" "$BE_TMP/out"; then
        be_pass "refused: $name"
    else
        be_fail "not refused (status $rc): $name" "$BE_TMP/out"
    fi
}
refused "no workload" workload
refused "unknown workload" nonsense nonsense
refused "unknown option" --frob rpc --frob
refused "bad sizes" "'zip:3'" rpc --sizes zip:3
refused "bad duration" --duration rpc --duration 0
refused "bad growth" "'much'" soak --max-growth much
refused "bad progress" --progress rpc --progress fast
be_case "--version" 10 "$perf" --version
be_case "--help" 10 "$perf" --help

# A transport that does not exist: cannot be measured, and says so.
rc=0
"$perf" rpc --baseline nonsense "${short[@]}" >"$BE_TMP/out" 2>&1 || rc=$?
if [ $rc = 3 ] && grep -q 'nothing could be measured over nonsense: .*unreachable' "$BE_TMP/out"; then
    be_pass "a transport that does not exist ends with status 3"
else
    be_fail "a transport that does not exist ends with status $rc" "$BE_TMP/out"
fi
be_finish
