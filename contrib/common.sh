# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of this folder share; sourced, never run.
#   top, build   source tree and build tree (BE_BUILD, default: build/ in the source tree)
#   logs         where run_logged keeps what commands print

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${BE_BUILD:-$top/build}
logs=$build/logs
export LC_ALL=C

say() { printf '%s\n' "$*"; }

# help_if_asked "$@": -h or --help prints the comment at the head of the script.
help_if_asked() {
    case ${1:-} in
        -h | --help)
            sed -n '/^# SPDX/d; 2,${/^#/!q; s/^# \{0,1\}//p}' "$0" | sed '1{/^$/d}'
            exit 0
            ;;
    esac
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# run_logged NAME COMMAND...: its output goes to $logs/NAME.log, whose end is shown
# when it fails. Says what it does and how long that took. Descriptor 9 (setup.sh's
# lock) is not handed on.
run_logged() {
    local name=$1 start=$SECONDS
    shift
    mkdir -p "$logs"
    printf '  %-28s ' "$name"
    if "$@" >"$logs/$name.log" 2>&1 </dev/null 9>&-; then
        printf 'done (%d s)\n' $((SECONDS - start))
        return 0
    fi
    printf 'FAILED (%d s), the end of %s:\n' $((SECONDS - start)) "$logs/$name.log"
    tail -n 30 "$logs/$name.log" | sed 's/^/    | /'
    return 1
}

# as_root COMMAND...: through sudo unless we are root. Without a terminal sudo must
# not ask for a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
    else
        say "neither root nor sudo; run as root: $*" >&2
        return 1
    fi
}
