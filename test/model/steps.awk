# SPDX-License-Identifier: BSD-3-Clause
#
# awk -f steps.awk recovery.table: Promela for the transitions, one inline on_EVENT(p) (and the
# epoch of the message, for recover_*) for each event. They set `steps`, of end p the situation
# and epoch, and nothing else.

function fits(pattern, name) {
    gsub(/\*/, "[a-z_]*", pattern)
    return name ~ ("^(" pattern ")$")
}

function listed(list, name,    part, n, i) {
    n = split(list, part, ",")
    for (i = 1; i <= n; i++)
        if (fits(part[i], name)) return 1
    return 0
}

function holds(condition, lost, device, first) {
    return condition == "-" || condition == (lost ? "lost" : "up") ||
        condition == (device ? "device" : "no_device") || (first && condition == "first")
}

# All situations have their names written out somewhere.
function note(list,    part, n, i) {
    n = split(list, part, ",")
    for (i = 1; i <= n; i++)
        if (part[i] !~ /[*=]/ && part[i] != "impossible" && !known[part[i]]++)
            situation[++situations] = part[i]
}

# What the first line that fits says, as Promela.
function outcome(state, event, lost, device, first,    row, text, step, n, i) {
    for (row = 1; row <= rows; row++)
        if (listed(from[row], state) && listed(on[row], event) &&
            holds(when[row], lost, device, first)) break
    if (row > rows) {
        print "no line for " state ", " event > "/dev/stderr"
        exit 1
    }
    if (to[row] == "impossible") return "impossible"
    if (to[row] != "=") text = "situation[p] = " to[row] "; "
    if (epoch[row] == "+1") text = text "epoch[p]++; "
    if (epoch[row] == "theirs" && event ~ /newer/) text = text "epoch[p] = theirs; "
    if (does[row] != "-") {
        n = split(toupper(does[row]), step, ",")
        text = text "steps = "
        for (i = 1; i <= n; i++) text = text (i > 1 ? " | " : "") step[i]
        text = text "; "
    }
    return text
}


# Guards with the conditions that matter, and only those. Situations that cannot be, with these
# conditions, are left to possible(p).
function options(state, event,    bits, other, matter, text, guard) {
    for (bits = 0; bits < 8; bits++)
        text[bits] = outcome(state, event, bits % 2, int(bits / 2) % 2, int(bits / 4))
    for (other = 1; other < 8; other *= 2)
        for (bits = 0; bits < 8; bits++)
            if (int(bits / other) % 2 && text[bits] != text[bits - other] &&
                text[bits] != "impossible" && text[bits - other] != "impossible")
                matter[other] = 1
    for (bits = 0; bits < 8; bits++) {
        guard = ""
        for (other = 1; other < 8; other *= 2)
            if (other in matter)
                guard = guard " && " (int(bits / other) % 2 ? "" : "!") condition[other]
        if (text[bits] == "" || text[bits] == "impossible" || done[state, event, guard]++)
            continue
        printf "    :: situation[p] == %s%s -> %s\n", state, guard, text[bits]
    }
}

# What no event leads to.
function possible(    row, n, i, part) {
    print "\ninline possible(p) {"
    for (row = 1; row <= rows; row++) {
        if (to[row] != "impossible") continue
        n = split(from[row], part, ",")
        for (i = 1; i <= n; i++)
            printf "    assert(!(situation[p] == %s && %slost[p]));\n", part[i],
                when[row] == "up" ? "!" : ""
    }
    print "}"
}

/^#/ || !NF { next }

{
    rows++
    note($1)
    note($4)
    from[rows] = $1; on[rows] = $2; when[rows] = $3
    to[rows] = $4; epoch[rows] = $5; does[rows] = $6
}

END {
    condition[1] = "lost[p]"; condition[2] = "device[p]"; condition[4] = "(epoch[p] == 0)"
    events = "connected failed drained tick rewired recover_older_rdma recover_older_tcp " \
        "recover_same_rdma recover_same_tcp recover_newer_rdma recover_newer_tcp " \
        "recovered_same channel_lost channel_back refused"
    count = split("DRAIN SEND_RECOVER REWIRE SEND_RECOVERED USE_TCP RESUME REDIAL DIE", name)
    for (i = 1; i <= count; i++) printf "#define %-14s %d\n", name[i], 2 ^ (i - 1)
    printf "mtype = {"
    for (i = 1; i <= situations; i++) printf "%s %s", (i > 1 ? "," : ""), situation[i]
    print " };"
    possible()
    count = split(events, event)
    for (e = 1; e <= count; e++) {
        print "\ninline on_" event[e] "(p" (event[e] ~ /^recover_/ ? ", theirs" : "") ") {"
        print "    steps = 0;\n    if"
        for (i = 1; i <= situations; i++) options(situation[i], event[e])
        print "    :: else\n    fi\n}"
    }
}
