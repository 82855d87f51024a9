#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# setup.sh [--for build|try|check] [--] [CONFIGURE-OPTION...]
#
# Brings a Debian or Ubuntu machine and a fresh checkout to a finished build: installs
# the packages of contrib/packages.txt that are missing (through sudo unless root),
# fetches UCX's source, makes the configure script, configures and builds in build/ (or
# $BE_BUILD). What is done already is not done again.
set -euo pipefail
# shellcheck source=contrib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

purpose=try
while [ $# -gt 0 ]; do
    case $1 in
        --for) purpose=${2:-}; shift 2 ;;
        --) shift; break ;;
        *) break ;;
    esac
done
case $purpose in
    build) groups=build ;;
    try) groups='build|try' ;;
    check) groups='build|try|check' ;;
    *) die "--for is one of build, try, check; got '$purpose'" ;;
esac
options=("$@")
[ "$purpose" != build ] || options+=(--disable-tests)

missing_packages() {
    local package
    while read -r package; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
            grep -qx installed || printf '%s\n' "$package"
    done < <(awk -v groups="^($groups)\$" '!/^#/ && $2 ~ groups { print $1 }' \
        "$top/contrib/packages.txt")
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get -q update
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install "$@"
}

configure() {
    cd "$build"
    "$top/configure" "${options[@]}"
    printf '%s\n' "${options[@]}" >.setup-options
}

mkdir -p "$build"
exec 9>"$build/.setup-lock"
flock -n 9 || {
    say "  waiting for another setup of ${build#"$PWD"/} to end"
    flock 9
}

command -v dpkg-query >/dev/null || die "this is not Debian or Ubuntu: see README.md, Build"
mapfile -t packages < <(missing_packages)
if [ ${#packages[@]} -gt 0 ]; then
    say "  installing: ${packages[*]}"
    run_logged packages install_packages "${packages[@]}"
fi
run_logged ucx-source "$top/contrib/fetch-ucx.sh"
[ -x "$top/configure" ] || run_logged autogen "$top/contrib/autogen.sh"
if [ ! -x "$build/config.status" ] ||
    [ "$(cat "$build/.setup-options" 2>/dev/null)" != "$(printf '%s\n' "${options[@]}")" ]; then
    run_logged configure configure
fi
run_logged build make -C "$build" -j"$(nproc)"
