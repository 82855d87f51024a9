#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# perftest.sh - Linux perftest, unmodified, on the software device. Part of `make check`, with a sample of
# what there is; SOFTRDMA_TEST_ALL=yes tries every test with every service and option it has.
#
# Exit status 77 when perftest is not installed (a failure when CI=true).
# shellcheck source=test/lib/harness.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/harness.sh"

export SOFTRDMA_DOMAIN=perftest-$$ SOFTRDMA_ONLY=yes
BE_TEST_TLS=none # no UCX here
be_start perftest
# shellcheck source=test/verbs/pair.sh
. "$(dirname "${BASH_SOURCE[0]}")/pair.sh"
be_need ib_send_lat perftest

sample() {
    pair ib_send_lat -s 8
    pair ib_send_lat -s 8 -e -n 200
    pair ib_send_lat -c UD -s 1024 -x 1 -n 200
    pair ib_write_lat -a -n 100
    pair ib_send_bw -a -n 100
    pair ib_send_bw -c UD -s 1024 -q 16 -n 200
    pair ib_send_bw -b -s 4096 --use-srq -q 4 -n 200
    pair ib_write_bw -c UC -a -n 100
    pair ib_write_bw -s 4096 -D 1 -b --report-both
    pair ib_write_bw -s 64 -I 64 --use_old_post_send -n 500
    pair ib_read_bw -s 65536 -n 500 -q 16
    pair ib_atomic_bw -A CMP_AND_SWAP -n 500 -q 4
    SOFTRDMA_LINK=eth pair ib_send_bw -s 4096 -x 1 -n 200
}

# services TEST: those it can use.
services() {
    case $1 in
        send) echo RC UC UD ;;
        write) echo RC UC ;;
        *) echo RC ;;
    esac
}

# variants TEST KIND SERVICE: an option list a line.
variants() {
    local test=$1 kind=$2 service=$3
    echo ""
    echo "-x 0"
    echo "-x 1"
    echo "--use_old_post_send"
    echo "-D 1"
    [ "$test" = atomic ] || echo "-s 1"
    [ "$test" = atomic ] || [ "$service" = UD ] || echo "-a"
    [ "$test" = atomic ] || [ "$service" = UD ] || echo "-s 1048576"
    [ "$test" = write ] || echo "-e"
    [ "$test" != atomic ] || echo "-A CMP_AND_SWAP"
    [ "$test" != atomic ] || echo "-A FETCH_AND_ADD"
    case $test in send | write) echo "-s 64 -I 0" && echo "-s 64 -I 64" ;; esac
    [ "$test" != send ] || [ "$service" = UC ] || echo "--use-srq"
    [ "$kind" = bw ] || return 0
    echo "-q 16"
    echo "-b"
    echo "-b -D 1 --report-both"
    echo "-Q 1"
    echo "-l 8"
    echo "-t 1"
    # Datagrams are lost when eight queue pairs send as much as the queue they share was given for one.
    [ "$test" != send ] || [ "$service" != RC ] || echo "--use-srq -q 8 -b"
}

everything() {
    local link test kind service options
    for link in ib eth; do
        export SOFTRDMA_LINK=$link
        echo "# link layer $link"
        for test in send write read atomic; do
            for kind in lat bw; do
                for service in $(services "$test"); do
                    while read -r options; do
                        # shellcheck disable=SC2086
                        pair "ib_${test}_$kind" -c "$service" -n 200 $options
                    done < <(variants "$test" "$kind" "$service")
                done
            done
        done
    done
}

if try_all; then everything; else sample; fi
be_finish
