# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v wings="WING..." -v strangers=" WING>WING... " -v named="FILE,FILE... FILE,..." -f calls.awk SYMBOLS: who calls whom, by
# the symbols of object files. Each line of SYMBOLS is FILE LETTER NAME, as nm has them. Prints calls into a wing that comes after
# the caller's, or that is a stranger to it, and circles of files (each reaches all others) that are not among those named, or named and not there. What goes through a
# table of functions is not seen.

$2 ~ /^[TDBRVW]$/ { home[$3] = $1 }
$2 == "U" { uses[++n_uses] = $1 " " $3 }
!seen[$1]++ { files[++n] = $1 }

END {
    find_calls()
    look_upward()
    find_ways()
    look_for_circles()
}

function wing(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

function find_calls(    i, use) {
    for (i = 1; i <= n_uses; i++) {
        split(uses[i], use, " ")
        if (use[2] in home && home[use[2]] != use[1])
            calls[use[1], home[use[2]]] = use[2]
    }
}

function look_upward(    i, order, rank, call, ends) {
    for (i = split(wings, order, " "); i > 0; i--)
        rank[order[i]] = i
    for (call in calls) {
        split(call, ends, SUBSEP)
        if (rank[wing(ends[2])] > rank[wing(ends[1])] || index(strangers, " " wing(ends[1]) ">" wing(ends[2]) " "))
            print ends[1] " calls " calls[call] "() of " ends[2]
    }
}

# Warshall's transitive closure.
function find_ways(    call, i, j, k) {
    for (call in calls)
        way[call] = 1
    for (k = 1; k <= n; k++)
        for (i = 1; i <= n; i++)
            if ((files[i], files[k]) in way)
                for (j = 1; j <= n; j++)
                    if ((files[k], files[j]) in way)
                        way[files[i], files[j]] = 1
}

# The files that reach this one and are reached by it, sorted, with a comma between; empty when there is none but itself.
function circle_of(file,    i, members, n_members, text) {
    for (i = 1; i <= n; i++)
        if ((file, files[i]) in way && (files[i], file) in way)
            members[++n_members] = files[i]
    if (n_members < 2)
        return ""
    sort(members, n_members)
    for (i = 1; i <= n_members; i++) {
        text = text (i > 1 ? "," : "") members[i]
        is_in_circle[members[i]] = 1
    }
    return text
}

function sort(list, size,    i, j, one) {
    for (i = 2; i <= size; i++) {
        one = list[i]
        for (j = i - 1; j > 0 && list[j] > one; j--)
            list[j + 1] = list[j]
        list[j + 1] = one
    }
}

function look_for_circles(    i, circle, list, known) {
    for (i = split(named, list, " "); i > 0; i--)
        known[list[i]] = 1
    for (i = 1; i <= n; i++) {
        circle = files[i] in is_in_circle ? "" : circle_of(files[i])
        if (circle == "")
            continue
        if (!(circle in known))
            print "a circle that doc/architecture.md does not name: " circle
        delete known[circle]
    }
    for (circle in known)
        print "no circle any more: " circle
}
