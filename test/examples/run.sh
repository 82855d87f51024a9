#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX's own examples, compiled as they come with its package, over the transport.
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"
# shellcheck source=test/lib/perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/perftest.sh"

be_start examples
be_need gcc gcc
for sources in /usr/share/doc/libucx-dev/examples "$BE_SRCDIR/.ucx-src/examples" none; do
    [ ! -f "$sources/ucp_hello_world.c" ] || break
done
[ "$sources" != none ] || be_abort "no UCX examples (Debian package libucx-dev, or contrib/fetch-ucx.sh)"

# They are UCX's code: its warnings are not ours.
for name in ucp_hello_world ucp_client_server uct_hello_world; do
    gcc -w -O1 -I"$sources" -o "$BE_TMP/$name" "$sources/$name.c" -lucp -luct -lucs ||
        be_abort "$sources/$name.c does not compile"
done

# example NAME PROGRAM SERVER-ARGUMENTS -- CLIENT-ARGUMENTS...: the client must exit 0, the server
# too unless it serves for ever, and the text that is sent must arrive. -p PORT is added to both.
example() {
    local name=$1 program=$2 rc=0 server_rc=0 server=()
    shift 2
    while [ "$1" != -- ]; do
        server+=("$1")
        shift
    done
    shift
    if ! be_server 20 "$BE_TMP/server.log" "${BE_PREFIX[@]}" "$BE_TMP/$program" "${server[@]}"; then
        be_fail "$name (the server does not listen)" "$BE_TMP/server.log"
        return
    fi
    be_bounded 60 "${BE_PREFIX[@]}" "$BE_TMP/$program" "$@" -p "$be_port" \
        >"$BE_TMP/client.log" 2>&1 </dev/null || rc=$?
    if [ "$program" = ucp_client_server ]; then
        kill "$be_pid" 2>/dev/null
        be_reap "$be_pid" 20
    else
        be_reap "$be_pid" 60 || server_rc=$?
        [ "$rc" != 0 ] || rc=$server_rc
    fi
    if [ "$rc" = 0 ] && ! grep -q ABCDEFGHIJKLMNO "$BE_TMP/client.log" "$BE_TMP/server.log"; then
        rc=1
    fi
    if [ "$rc" = 0 ] && [ -n "$(perf_noise)" ]; then
        be_fail "$name (warnings)" "$BE_TMP/server.log" "$BE_TMP/client.log"
        return
    fi
    be_verdict "$name" "$rc" 60 "$BE_TMP/server.log" "$BE_TMP/client.log"
}

example "ucp_hello_world" ucp_hello_world -- -n localhost
example "ucp_hello_world, sleeping" ucp_hello_world -w -- -w -n localhost
for kind in tag stream am; do
    example "ucp_client_server $kind" ucp_client_server -c "$kind" -- -c "$kind" -a 127.0.0.1
done
# UCT programs name transport and device themselves.
if be_is_be; then
    for mode in i b z; do
        example "uct_hello_world -$mode" uct_hello_world -d lo -t be "-$mode" -- \
            -d lo -t be "-$mode" -n localhost
    done
fi
be_finish
