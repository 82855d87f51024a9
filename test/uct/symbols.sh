#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the plugin gives to and takes from the process it is loaded into: three functions, and nothing of
# libibverbs, which is opened at run time.
set -uo pipefail

plugin=$BE_MODULEDIR/libuct_be.so.0
failed=0

exported=$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sort | tr '\n' ' ')
if [ "$exported" = "ucs_module_global_init uct_be_cleanup uct_be_init " ]; then
    echo "ok   exports three functions"
else
    echo "FAIL exports: $exported"
    failed=1
fi

verbs=$(nm -D --undefined-only "$plugin" | awk '$2 ~ /^ibv_/ { print $2 }')
if [ -z "$verbs" ]; then
    echo "ok   needs no symbol of libibverbs"
else
    echo "FAIL needs: $verbs"
    failed=1
fi

for flag in NOW NODELETE; do
    if readelf -d "$plugin" | grep FLAGS_1 | grep -q "\<$flag\>"; then
        echo "ok   linked with -z ${flag,,}"
    else
        echo "FAIL not linked with -z ${flag,,}"
        failed=1
    fi
done

if readelf -d "$plugin" | grep SONAME | grep -q 'libuct_be\.so\.0'; then
    echo "ok   called libuct_be.so.0"
else
    echo "FAIL soname"
    failed=1
fi

exit $failed
