#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# layers.sh - check who includes whom. Part of `make check`.
#
# Every include of every file below src/ and test/sim/ is held against the two tables
# below: which parts of this project a part may see, and which of other people's headers.
# Prints one line per violation, with what would have been allowed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Part of the source tree, then what it may include besides itself: a part's name for all
# of its headers, or one header.
parts='
src/core
src/memory    core
src/verbs     core
src/control   core
src/engine    core memory verbs control metrics/api.hpp
src/metrics   core
src/ucx_be    engine/c_api.h
src/softrdma
src/adapter   core memory
src/python    adapter
src/tools     core memory verbs control adapter engine/c_api.h metrics/api.hpp metrics/where.hpp
test/sim      core
'

# A family of headers (a prefix of their names), then the parts that may include it. Families
# that are not listed (the C and C++ libraries, the operating system) are for all but core.
families='
infiniband/   src/verbs src/softrdma
uct/          src/ucx_be
ucs/          src/ucx_be
ucm/          src/ucx_be
ucp/          src/ucx_be src/adapter src/tools
hwloc         src/memory src/adapter
boost/        src/control
flatbuffers/  src/control src/adapter
sodium        src/control src/engine src/adapter
fmt/          src/engine src/adapter src/tools
CLI/          src/tools src/softrdma test/sim
pybind11/     src/python
prometheus/   src/metrics
nlohmann/     src/tools src/softrdma test/sim
'

list_files() {
    find src test/sim -type f \( -name '*.c' -o -name '*.h' -o -name '*.inl' \
        -o -name '*.cpp' -o -name '*.hpp' \) | sort
}

check_includes() {
    list_files | xargs grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' |
        awk -v parts="$parts" -v families="$families" '
    BEGIN {
        n = split(parts, lines, "\n")
        for (i = 1; i <= n; i++) {
            words = split(lines[i], word, " ")
            if (!words) continue
            short = word[1]; sub(/.*\//, "", short)
            name[short] = word[1]
            may[word[1]] = ""
            for (w = 2; w <= words; w++) may[word[1]] = may[word[1]] " " word[w]
        }
        n = split(families, lines, "\n")
        for (i = 1; i <= n; i++) {
            words = split(lines[i], word, " ")
            if (!words) continue
            users[word[1]] = lines[i]
            sub(/^[^ ]+ */, "", users[word[1]])
        }
    }
    function bad(text) { print where ": includes " header ": " text; failed = 1 }
    function listed(item, list) { return index(" " list " ", " " item " ") > 0 }
    {
        split($0, field, ":")
        file = field[1]; where = file ":" field[2]
        match($0, /[<"][^>"]*[>"]/)
        header = substr($0, RSTART + 1, RLENGTH - 2)
        quoted = substr($0, RSTART, 1) == "\""
        split(file, folder, "/")
        part = folder[1] "/" folder[2]
        if (!(part in may)) { bad(part " is not in the table of parts"); next }
        if (header ~ /\.\.\//) { bad("a path that climbs, name it from src/"); next }

        other = header; sub(/\/.*/, "", other)
        if (header ~ /\// && (other in name)) {
            if (name[other] == part || listed(other, may[part]) || listed(header, may[part]))
                next
            bad(part " may include of this project:" (may[part] ? may[part] : " nothing"))
            next
        }
        if (quoted && header !~ /\//) next  # of its own folder, or be_config.h

        for (family in users)
            if (index(header, family) == 1) {
                if (!listed(part, users[family])) bad("only for " users[family])
                next
            }
        if ((part == "src/core" || part == "test/sim") && header !~ /^[a-z_]+$/)
            bad(part " may include the C++ standard library only")
    }
    END { exit failed }'
}

# UCX releases differ in the names that m4/ucx_probes.m4 defines: only compat.h reads
# them. guard.c compares release numbers, which is its task.
check_versions() {
    local macros
    macros=$(grep -oE '\[BE_[A-Z0-9_]+\]' m4/ucx_probes.m4 | tr -d '[]' |
        grep -v '^BE_UCX_' | sort -u | paste -sd '|' -)
    ! list_files | grep -v -x -e src/ucx_be/compat.h -e src/ucx_be/guard.c |
        xargs grep -HnwE "$macros|UCT_VERNO_[A-Z]+|UCP_API_(VERSION|MAJOR|MINOR)" |
        sed 's|$|: knowledge of UCX releases belongs in src/ucx_be/compat.h|' | grep .
}

status=0
check_includes || status=1
check_versions || status=1
[ $status = 0 ] && echo "layers: $(list_files | wc -l) files checked"
exit $status
