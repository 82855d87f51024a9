#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Metrics over HTTP (UCX_BE_METRICS): what is scraped is what docs/operations.md lists, and all that the dashboard asks
# for is there; a port that is taken; processes that were not asked carry no HTTP server.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

program=$BE_BUILDDIR/test/tools/stats_program
# shellcheck disable=SC2034 # for the harness
BE_TEST_TLS=be,self
be_start metrics
be_need python3 python3
[ -e "$BE_MODULEDIR/libbe_metrics.so" ] || be_abort "built without prometheus-cpp (package prometheus-cpp-dev)"
export XDG_RUNTIME_DIR=$BE_TMP UCX_LOG_LEVEL=info

# say NAME CONDITION-STATUS [FILE]
say() {
    if [ "$2" = 0 ]; then be_pass "$1"; else be_fail "$1" "${3:-$BE_TMP/out}"; fi
}

# run NAME VARIABLE...: a process that calls itself and stays; its id in $process, its messages in NAME.log.
run() {
    local name=$1
    shift
    mkfifo "$BE_TMP/$name.to" "$BE_TMP/$name.from"
    env "$@" UCX_LOG_FILE=stderr "${BE_PREFIX[@]}" "$program" \
        <"$BE_TMP/$name.to" >"$BE_TMP/$name.from" 2>"$BE_TMP/$name.log" &
    be_children+=($!)
    exec {to}>"$BE_TMP/$name.to" {from}<"$BE_TMP/$name.from"
    inputs+=("$to")
    read -r -t 60 process <&"$from"
}

# served NAME: where the process says that it serves.
served() {
    grep -o 'metrics are served at http://[^ ]*' "$BE_TMP/$1.log" | sed 's/.*http/http/' | head -n 1
}

# scrape URL: headers and metrics. A shell of its own: a connection that is refused ends it.
scrape() (
    host=${1#http://} host=${host%%/*}
    exec 9<>"/dev/tcp/${host%:*}/${host##*:}"
    printf 'GET /metrics HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$host" >&9
    timeout 20 cat <&9
)

# port_of URL
port_of() {
    local port=${1##*:}
    echo "${port%/*}"
}

inputs=()
run first UCX_BE_METRICS=127.0.0.1:0
url=$(served first)
[ -n "$url" ]
say "a process says where it serves" $? "$BE_TMP/first.log"
scrape "$url" >"$BE_TMP/out"
grep -q '^HTTP/1.1 200' "$BE_TMP/out" && grep -q 'text/plain' "$BE_TMP/out"
say "it answers" $?
sent() { awk '/^be_messages_sent_total[{]/ { if ($NF > most) most = $NF } END { print most + 0 }' "$1"; }
before=$(sent "$BE_TMP/out")
echo more >&"${inputs[0]}"
read -r -t 60 _ <&"$from"
scrape "$url" >"$BE_TMP/scraped"
[ "$(sent "$BE_TMP/scraped")" -ge $((before + 100)) ]
say "what is counted meanwhile is in the next answer" $? "$BE_TMP/scraped"

# The table of the manual, both ways. exposer_* are the server's own.
grep -E '^# TYPE be_' "$BE_TMP/scraped" | tr -d '\r' | awk '{ print $3, $4 }' | sort >"$BE_TMP/is"
# shellcheck disable=SC2016
sed -n 's/^| `\(be_[a-z_]*\)` |[^|]*| \([a-z]*\) |.*/\1 \2/p' "$BE_SRCDIR/docs/operations.md" | sort >"$BE_TMP/documented"
[ "$(wc -l <"$BE_TMP/is")" -gt 60 ] && diff "$BE_TMP/documented" "$BE_TMP/is" >"$BE_TMP/out"
say "names and kinds are those of docs/operations.md" $?
! awk '{ print $1 }' "$BE_TMP/is" | grep -vE '_(total|bytes|seconds|info)$' | while read -r name; do
    grep -qE "^$name gauge$" "$BE_TMP/is" || echo "$name"
done | grep .
say "what is neither gauge nor in bytes or seconds is a total" $?

python3 - "$BE_TMP/scraped" "$BE_SRCDIR/contrib/grafana/byteexpress.json" "$BE_SRCDIR/docs/operations.md" >"$BE_TMP/out" 2>&1 <<'PY'
import json, re, sys
served = set(re.findall(r'^(be_\w+)[{ ]', open(sys.argv[1]).read(), re.M))
texts = []
def walk(node):
    if isinstance(node, dict):
        texts.extend(v for k, v in node.items() if k in ('expr', 'query') and isinstance(v, str))
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            walk(one)
walk(json.load(open(sys.argv[2])))
alarms = open(sys.argv[3]).read().split('## What to alarm on')[1]
asked = set(re.findall(r'\bbe_\w+', ' '.join(texts)))
alarmed = set(re.findall(r'\bbe_\w+', alarms))
print('asked for', len(asked), 'and', len(alarmed), 'but not served:', (asked | alarmed) - served)
sys.exit(bool((asked | alarmed) - served) or len(asked) < 10 or len(alarmed) < 5)
PY
say "all that the dashboard and the alarms ask for is served" $?
python3 - "$BE_TMP/scraped" >"$BE_TMP/out" 2>&1 <<'PY'
import re, sys
text = open(sys.argv[1]).read()
series = {}
for labels, le, value in re.findall(r'^be_recovery_seconds_bucket\{(.*),le="(.*)"\} (\S+)', text, re.M):
    series.setdefault(labels, []).append((float(le), float(value)))
counts = dict(re.findall(r'^be_recovery_seconds_count\{(.*)\} (\S+)', text, re.M))
print(series, counts)
for labels, buckets in series.items():
    assert buckets == sorted(buckets) and len(buckets) == 10
    assert buckets[-1] == (float('inf'), float(counts[labels]))
assert series
PY
say "the histogram is whole" $?

# A port that is taken.
port=$(port_of "$url")
run second UCX_BE_METRICS="127.0.0.1:$port"
[ -n "$process" ] && [ -z "$(served second)" ] &&
    [ "$(grep -c "UCX_BE_METRICS=127.0.0.1:$port: no metrics are served: 127.0.0.1:$port: Address already in use" \
        "$BE_TMP/second.log")" = 1 ] && [ "$(grep -ci 'in use\|bind' "$BE_TMP/second.log")" = 1 ]
say "a port that is taken is warned of once, and the process works" $? "$BE_TMP/second.log"
run third UCX_BE_METRICS="127.0.0.1:$port+"
[ "$(port_of "$(served third)")" -gt "$port" ] && scrape "$(served third)" | grep -q '^be_messages_sent_total{'
say "the next free one is taken if one is allowed to" $? "$BE_TMP/third.log"
run fourth UCX_BE_METRICS=localhost:http
[ -n "$process" ] && [ "$(grep -c "'localhost:http': expected ADDRESS:PORT, ADDRESS:PORT+ or ADDRESS:FIRST-LAST" \
    "$BE_TMP/fourth.log")" = 1 ]
say "what is no address is named, and what is expected" $? "$BE_TMP/fourth.log"
run fifth UCX_BE_METRICS=127.0.0.1:0 UCX_BE_STATS=no
scrape "$(served fifth)" | grep -q '^be_messages_sent_total{' && [ ! -e "$BE_TMP/byteexpress/$process-0.stats" ]
say "without a file of statistics, too" $? "$BE_TMP/fifth.log"

run sixth UCX_BE_SOFT=auto
[ -r "/proc/$process/maps" ] && ! grep -qE 'prometheus|civetweb|libbe_metrics' "/proc/$process/maps"
say "who is not asked has no HTTP server" $?

for input in "${inputs[@]}"; do exec {input}>&-; done
failed=0
for child in "${be_children[@]}"; do wait "$child" || failed=$?; done
[ $failed = 0 ]
say "all end well" $?
! scrape "$url" >"$BE_TMP/out" 2>&1
say "and their ports are free" $?
be_finish
