#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch-ucx.sh - fill .ucx-src with the source of the installed UCX.
#
# A transport is built from UCX's internal headers, which no package holds. On Debian
# and Ubuntu they come from the source package of the installed library, through
# the machine's own package mirrors: its deb entries are read as deb-src ones in a
# temporary folder, and nothing outside .ucx-src is written. Needs dpkg-dev, no root.
# Does nothing when .ucx-src already holds the right version.
set -euo pipefail
# shellcheck source=contrib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

target=$top/.ucx-src
# Kept inside, to know the version again; apt's word for it, as in 1.13.1-1.
stamp=.be-source-version

for tool in apt-get dpkg-query dpkg-source; do
    command -v "$tool" >/dev/null || die "$tool not found. On Debian and Ubuntu:" \
        "apt-get install dpkg-dev; elsewhere configure --with-ucx-src=DIR"
done
version=$(dpkg-query -W -f='${source:Version}' libucx0 2>/dev/null) ||
    die "package libucx0 is not installed (apt-get install libucx-dev);" \
        "for another UCX configure --with-ucx=DIR --with-ucx-src=DIR"

if [ "$(cat "$target/$stamp" 2>/dev/null)" = "$version" ]; then
    say "fetch-ucx: .ucx-src holds UCX $version"
    exit 0
fi

# In the source tree, so that the last step is a rename.
tmp=$(mktemp -d "$top/.ucx-src.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/sources" "$tmp/lists/partial" "$tmp/cache/archives/partial"
# The suites of this distribution: other vendors' entries have no ucx source.
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$codename" ] || die "/etc/os-release names no VERSION_CODENAME"

# deb822 stanzas: Types becomes deb-src; others than this distribution's main are dropped.
convert_deb822() {
    awk -v codename="$codename" '
        function flush(   keep) {
            keep = stanza != "" && types && suites && components && !disabled
            if (keep) printf "%s\n", stanza
            stanza = ""; types = suites = components = disabled = 0
        }
        /^[ \t]*$/ { flush(); next }
        /^#/ { next }
        tolower($1) == "types:" {
            types = 1; stanza = stanza "Types: deb-src\n"; next
        }
        tolower($1) == "suites:" {
            for (i = 2; i <= NF; i++) if (index($i, codename) == 1) suites = 1
        }
        tolower($1) == "components:" {
            for (i = 2; i <= NF; i++) if ($i == "main") components = 1
        }
        tolower($1) == "enabled:" && tolower($2) == "no" { disabled = 1 }
        { stanza = stanza $0 "\n" }
        END { flush() }' "$1"
}

# One-line entries: deb [options] URI suite component...
convert_list() {
    awk -v codename="$codename" '
        $1 == "deb" {
            line = $0
            sub(/^deb[ \t]+/, "", line)
            options = ""
            if (line ~ /^\[/) {
                options = substr(line, 1, index(line, "]"))
                line = substr(line, index(line, "]") + 1)
            }
            n = split(line, field, " ")
            if (index(field[2], codename) != 1) next
            for (i = 3; i <= n; i++)
                if (field[i] == "main") { print "deb-src", options, line; next }
        }' "$1"
}

for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -r "$file" ] || convert_deb822 "$file" >"$tmp/sources/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -r "$file" ] || convert_list "$file" >"$tmp/sources/$(basename "$file" .list).list"
done
find "$tmp/sources" -empty -type f -delete
[ -n "$(ls -A "$tmp/sources")" ] ||
    die "no entry for $codename main in /etc/apt/sources.list and sources.list.d"

apt=(apt-get -q
    -o APT::Sandbox::User=root
    -o Dir::Etc::sourcelist=/dev/null
    -o Dir::Etc::sourceparts="$tmp/sources"
    -o Dir::State::lists="$tmp/lists"
    -o Dir::Cache="$tmp/cache")
fetch() {
    # A mirror that serves no sources fails here, but another may have the package.
    "${apt[@]}" update || true
    cd "$tmp"
    "${apt[@]}" source --download-only "ucx=$version"
    dpkg-source -x ./ucx_*.dsc tree
}

say "fetch-ucx: fetching the source of UCX $version"
(fetch) >"$tmp/log" 2>&1 </dev/null || {
    cat "$tmp/log" >&2
    die "cannot get the source package ucx=$version from this machine's mirrors;" \
        "configure --with-ucx-src=DIR takes any copy of it"
}
[ -f "$tmp/tree/src/uct/base/uct_iface.h" ] || die "ucx=$version has no src/uct/base/uct_iface.h"
echo "$version" >"$tmp/tree/$stamp"
rm -rf "$target"
mv "$tmp/tree" "$target"
say "fetch-ucx: .ucx-src holds UCX $version"
