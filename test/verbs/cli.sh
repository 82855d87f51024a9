#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# cli.sh - the program `softrdma` on two processes that exchange messages: what it shows, counts, exports and
# makes fail, and what it says to bad input. Part of `make check`.
#
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/server.sh"

library=${SOFTRDMA_LIBRARY:-${BE_MODULEDIR:?names the folder of libsoftrdma.so}/libsoftrdma.so}
tool=${SOFTRDMA_TOOL:-$BE_BUILDDIR/src/softrdma/softrdma}
export SOFTRDMA_DOMAIN=cli-$$ SOFTRDMA_ONLY=yes
BE_TEST_TLS=none # no UCX here
be_start cli
trap 'be_cleanup; rm -f /dev/shm/softrdma*-"$SOFTRDMA_DOMAIN"' EXIT
be_need python3 python3
be_need ibv_asyncwatch ibverbs-utils
be_need ib_write_bw perftest
soft=(env "LD_PRELOAD=$library")

# expect NAME STATUS PATTERN ARGUMENT...: what softrdma does with these arguments; "": prints anything.
expect() {
    local name=$1 status=$2 pattern=$3 rc=0
    shift 3
    be_bounded 20 "$tool" "$@" >"$BE_TMP/out" 2>&1 </dev/null || rc=$?
    if [ "$rc" = "$status" ] && { [ -z "$pattern" ] || grep -qE -- "$pattern" "$BE_TMP/out"; }; then
        be_pass "$name"
    else
        be_fail "$name (exit status $rc, expected $status and '$pattern')" "$BE_TMP/out"
    fi
}

# json NAME EXPRESSION ARGUMENT...: a Python expression over the JSON that softrdma prints is true.
json() {
    local name=$1 expression=$2
    shift 2
    be_bounded 20 "$tool" "$@" >"$BE_TMP/out" 2>&1
    if python3 -c 'import json, sys
report = json.loads(open(sys.argv[1]).read())
sys.exit(0 if eval(sys.argv[2]) else 1)' "$BE_TMP/out" "$expression" 2>"$BE_TMP/error"; then
        be_pass "$name"
    else
        be_fail "$name: $expression" "$BE_TMP/out" "$BE_TMP/error"
    fi
}

# await FILE PATTERN: until the file holds it, 10 s at most.
await() {
    timeout 10 bash -c "until grep -qE '$2' '$1'; do sleep 0.02; done"
}

# Bad usage, and a domain without anybody.
expect "no command is refused" 2 'subcommand is required'
expect "an unknown command is refused" 2 'subcommand is required|not expected' frobnicate
expect "an unused domain is named" 1 "domain \"$SOFTRDMA_DOMAIN\" is not in use" counters
expect "an unknown fault is named, with those that are known" 2 '"flood": expected one of qp-error' fault flood
expect "a wrong duration is named" 2 'for=5: expected a time such as' fault link-down for=5
expect "a wrong key is named, with those that fit" 2 '"qpn=5": expected KEY=VALUE with one of count' fault bit-flip qpn=5
expect "a wrong process is named" 2 'pid=me: expected the number' fault link-down pid=me
expect "a wrong interval is named" 2 '--interval soon: expected a time' watch --interval soon
expect "the help lists the faults" 0 'completion-delay .*delay\*' fault --help
expect "a version is printed" 0 '^softrdma [0-9]' --version

# Traffic: a server and a client that run until they are stopped.
if ! be_server 20 "$BE_TMP/server.log" "${soft[@]}" ib_write_bw -D 60 -s 65536; then
    be_fail "ib_write_bw (the server does not listen)" "$BE_TMP/server.log"
    be_finish
fi
server=$be_pid
be_spawn "${soft[@]}" ib_write_bw -D 60 -s 65536 -p "$be_port" localhost >"$BE_TMP/client.log" 2>&1
client=$be_pid
# A client has sent something as soon as a counter is above zero.
busy() {
    timeout 10 bash -c "until '$tool' counters --pid $client 2>/dev/null | grep -q port_xmit_bytes; do sleep 0.02; done"
}
if busy; then be_pass "traffic is counted"; else be_fail "traffic is counted" "$BE_TMP/client.log"; fi

expect "show names the processes" 0 "^$client +ib_write_bw +softrdma0 +active" show
json "show as JSON" "{p['pid'] for p in report['ports']} == {$server, $client}" show --json
json "counters as JSON: what one sent the other received, but for the moment between two looks" \
    "(lambda c: c[$client]['port_xmit_bytes'] > 0 and c[$server]['port_rcv_bytes'] >= c[$client]['port_xmit_bytes'] - 65536 * 1024
     if c else False)({p['pid']: p['counters'] for p in report['ports']})" counters --json
expect "counters of one process" 0 "^softrdma0 of process $server \(ib_write_bw\), active" counters --pid "$server"
expect "counters that are zero, on demand" 0 '^  rx_prio7_pause_ns +0$' counters --all --pid "$server"
expect "counters for Prometheus" 0 \
    "^softrdma_port_rcv_bytes_total\{device=\"softrdma0\",port=\"1\",pid=\"$server\",command=\"ib_write_bw\"\} [1-9]" \
    counters --prometheus
expect "a process that is not there is named" 1 'process 1 does not use the device' counters --pid 1
expect "a device that is not there is named" 1 'no process has softrdma7' counters --device softrdma7
expect "a wrong device is named" 2 '--device mlx5_0: expected softrdma0' counters --device mlx5_0

json "watch prints rates" "any(p['pid'] == $client and p['per_second']['port_xmit_bytes'] > 0 for p in report['ports'])" \
    watch --interval 200ms --count 1 --json
expect "watch prints a table" 0 "^$client +ib_write_bw +softrdma0" watch --interval 100ms --count 1

expect "counters are exported" 0 '' counters --export "$BE_TMP/export"
files=$BE_TMP/export
exported() { # exported NAME FILE: holds a whole number above zero
    if grep -qE '^[1-9][0-9]*$' "$files/$2"; then be_pass "$1"; else be_fail "$1" "$files/$2"; fi
}
exported "exported: data of the device" softrdma0/ports/1/counters/port_rcv_data
exported "exported: data of a process" "processes/$server/softrdma0/ports/1/counters/port_rcv_data"
if [ "$(cat "$files/softrdma0/ports/1/hw_counters/out_of_buffer")" = 0 ]; then
    be_pass "exported: a counter that is zero"
else
    be_fail "exported: a counter that is zero"
fi
expect "a folder that cannot be written is named" 1 '/proc/nowhere' counters --export /proc/nowhere

# The fabric.
expect "a wrong rate is named" 2 'rate=fast: expected bits per second' set rate=fast
expect "nothing to set is refused" 2 'words is required' set
expect "a fabric is set" 0 "^softrdma0 of process $client .*: rate=40000M,delay=2000ns,buffer=262144,pfc=on,xoff=131072,xon=65536$" \
    set rate=40G delay=2us buffer=256K "pid=$client"
expect "a fabric is shown" 0 "^$client .* rate=40000M,delay=2000ns" show
expect "what is not named stays" 0 'rate=40000M,delay=5000ns,buffer' set delay=5us "pid=$client"
expect "what does not fit what is set is named, with the port" 2 \
    "softrdma0 of process $client: xon=65536, xoff=1024, .*expected xon below xoff" set xoff=1K "pid=$client"
expect "the fabric is switched off" 0 "softrdma0 of process $server .*: off" set off

# Faults.
expect "a queue pair that is not there is named" 1 'queue pair number 1: none' fault qp-error qpn=1
be_spawn "${soft[@]}" ibv_asyncwatch -d softrdma0 >"$BE_TMP/watch.log" 2>&1
watcher=$be_pid
timeout 10 bash -c "until '$tool' show | grep -q '^$watcher '; do sleep 0.02; done"
expect "link down" 0 "link-down on process $watcher \(ibv_asyncwatch\): 1 port" fault link-down "pid=$watcher"
expect "a port that is down is shown" 0 "^$watcher .* down" show
expect "link up" 0 "link-up on process $watcher .*: 1 port" fault link-up "pid=$watcher"
expect "what will happen is said" 0 "link-down on process $watcher .*: scheduled" \
    fault link-down "pid=$watcher" after=10ms for=10ms
expect "device removed" 0 "device-removed on process $watcher .*: 1 port" fault device-removed "pid=$watcher"
for event in 'local catastrophic error|DEVICE_FATAL|device_fatal' 'port error|port_error|PORT_ERR' \
    'port active|port_active|PORT_ACTIVE'; do
    if await "$BE_TMP/watch.log" "$event"; then
        be_pass "ibv_asyncwatch sees ${event%%|*}"
    else
        be_fail "ibv_asyncwatch sees ${event%%|*}" "$BE_TMP/watch.log"
    fi
done
kill "$watcher"
be_reap "$watcher" 10
kill -STOP "$client"
# Every thread of it, before it is asked for anything.
timeout 10 bash -c "while grep -lv ') T ' /proc/$client/task/*/stat >/dev/null; do sleep 0.02; done"
expect "a stopped process is named" 1 "process $client does not take the order: it is stopped" \
    fault link-down "pid=$client" for=1ms
kill -CONT "$client"
expect "all queue pairs fail" 0 "qp-error on process $client .*: 1 queue pair" fault qp-error "pid=$client"
rc=0
be_reap "$client" 20 || rc=$?
if [ "$rc" != 0 ] && [ "$rc" != 124 ]; then
    be_pass "the program whose queue pair failed gives up"
else
    be_fail "the program whose queue pair failed gives up (exit status $rc)" "$BE_TMP/client.log"
fi
kill "$server" 2>/dev/null
be_reap "$server" 10

# The same at the start, by environment.
be_spawn env SOFTRDMA_FAULT="link-down,after=50ms,for=50ms;device-removed,after=150ms" \
    "LD_PRELOAD=$library" ibv_asyncwatch -d softrdma0 >"$BE_TMP/environment.log" 2>&1
if await "$BE_TMP/environment.log" 'local catastrophic error|DEVICE_FATAL|device_fatal' &&
    grep -qiE 'port.error|port_err' "$BE_TMP/environment.log"; then
    be_pass "faults by environment"
else
    be_fail "faults by environment" "$BE_TMP/environment.log"
fi
kill "$be_pid"
be_reap "$be_pid" 10
SOFTRDMA_FABRIC=rate=10G,delay=1us "${soft[@]}" ibv_asyncwatch -d softrdma0 >"$BE_TMP/shaped.log" 2>&1 &
shaped=$!
be_children+=("$shaped")
if timeout 10 bash -c "until '$tool' show | grep -qE '^$shaped .* rate=10000M,delay=1000ns'; do sleep 0.02; done"; then
    be_pass "a fabric by environment"
else
    be_fail "a fabric by environment"
fi
kill "$shaped"
be_reap "$shaped" 10
SOFTRDMA_FAULT=flood SOFTRDMA_FABRIC=speed=1 "${soft[@]}" ibv_devices >"$BE_TMP/bad.log" 2>&1
if grep -q 'SOFTRDMA_FABRIC is ignored: "speed": expected off' "$BE_TMP/bad.log" &&
    grep -q 'SOFTRDMA_FAULT is ignored: fault "flood": expected one of' "$BE_TMP/bad.log" &&
    grep -q softrdma0 "$BE_TMP/bad.log"; then
    be_pass "a wrong fault or fabric in the environment is named"
else
    be_fail "a wrong fault or fabric in the environment is named" "$BE_TMP/bad.log"
fi

be_finish
