# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# A server of a test on a TCP port that nobody else uses. Sourced after harness.sh.

# A port below the range that the kernel hands out by itself; somebody else may still
# take it, which is why be_server tries others.
be_free_port() {
    local low _
    read -r low _ </proc/sys/net/ipv4/ip_local_port_range
    [ "$low" -gt 12000 ] || low=32768
    echo $((10000 + (RANDOM * 32768 + RANDOM) % (low - 10000)))
}

# be_listening PORT [PID]: a socket listens there (and PID itself holds it).
be_listening() {
    local inode
    while read -r inode; do
        [ -n "${2:-}" ] || return 0
        [ -z "$(find "/proc/$2/fd" -lname "socket:\[$inode\]" 2>/dev/null)" ] || return 0
    done < <(awk -v port=":$(printf %04X "$1")" \
        '$4 == "0A" && substr($2, length($2) - 4) == port { print $10 }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    return 1
}

# be_server SECONDS LOG COMMAND...: starts COMMAND... -p PORT and waits, at most that long,
# until it listens: $be_pid, $be_port. Another port when that one turned out to be taken.
be_server() {
    local limit=$1 log=$2 attempt tries
    shift 2
    for attempt in 1 2 3 4 5 6 7 8; do
        be_port=$(be_free_port)
        be_spawn "$@" -p "$be_port" >"$log" 2>&1
        for ((tries = 0; tries < limit * 50; tries++)); do
            ! be_listening "$be_port" "$be_pid" || return 0
            kill -0 "$be_pid" 2>/dev/null || break
            sleep 0.02 # between two looks at the condition; nothing depends on its length
        done
        be_reap "$be_pid" 1
        # What ucx_perftest, the ibv_* programs and perftest say of a port in use.
        grep -qE "in use|Couldn't listen to port|bind" "$log" || break
        echo "# attempt $attempt: port $be_port was taken"
    done
    return 1
}
