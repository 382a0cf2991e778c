# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Draws changes at random; `seed` decides. Reads first the counts of test runs (see tests/coverage/counts.sh), then the
# candidates of candidates.awk. It writes into `out`/KIND the changes of each kind whose line was run, in the order in
# which they are drawn. A field is added at the end: the runs that reached the line, each as RUN:SHARE; SHARE is the
# part of the file's lines that the run reached. Runs of tests that are not in the file `times` do not count.

BEGIN {
    FS = "\t"
    while ((getline test <times) > 0) {
        sub(/ .*/, "", test)
        gsub(/\//, "_", test)
        usable[test] = 1
    }
}

FILENAME ~ /\.counts$/ {
    split($0, part, " ")
    if (part[1] != "l")
        next
    has_code[part[2], part[3]] = 1
    run = FILENAME
    sub(/.*\//, "", run)
    sub(/\.counts$/, "", run)
    if (part[4] && run in usable) {
        ran_by[part[2], part[3]] = ran_by[part[2], part[3]] " " run
        lines_of[run, part[2]]++
    }
    if (!((part[2], part[3]) in seen)) {
        seen[part[2], part[3]] = 1
        lines_in[part[2]]++
    }
    next
}

# The line itself or, for a later line of a statement, the nearest line before it that has code.
function runs_at(file, line, n)
{
    for (n = line; n > line - 8 && n > 0; n--)
        if ((file, n) in has_code)
            return ran_by[file, n]
    return ""
}

function with_shares(runs, file,    n, list, i, out)
{
    n = split(runs, list, " ")
    out = ""
    for (i = 1; i <= n; i++)
        out = out sprintf(" %s:%.3f", list[i], lines_of[list[i], file] / lines_in[file])
    return substr(out, 2)
}

{
    runs = runs_at($1, $2)
    if (runs != "" && index($0, matching)) {
        n = ++count[$4]
        text[$4, n] = $0
        # A file may be moved to another folder of its layer.
        name = $1
        sub(/^cm\/[a-z_]*\//, "cm/", name)
        sub(/^rpc\/[a-z_]*\//, "rpc/", name)
        sub(/^transport\/(core|wire)\//, "transport/", name)
        key[$4, n] = name " " $4 " " $6 " " $7
        runs_of[$4, n] = runs
        file_of[$4, n] = $1
    }
}

# Returns a number that depends on the text and the seed only: a change keeps its place when code elsewhere changes, so
# that samples of two commits have most changes in common.
function number_of(what,    i, h)
{
    h = seed % 2147483646 + 1
    for (i = 1; i <= length(what); i++)
        h = (h * 16807 + ord[substr(what, i, 1)]) % 2147483647
    for (i = 0; i < 4; i++) # Park and Miller's generator, so that the last letters count as much as the first
        h = h * 16807 % 2147483647
    return h
}

function write_in_order(kind,    i, what, sorted)
{
    sorted = "LC_ALL=C sort -n | cut -f 2- >'" out "/" kind "'"
    for (i = 1; i <= count[kind]; i++) {
        what = key[kind, i]
        what = what " " ++met[what]
        printf "%d\t%s\t%s\n", number_of(what), text[kind, i], with_shares(runs_of[kind, i], file_of[kind, i]) | sorted
    }
    close(sorted)
}

END {
    for (i = 0; i < 256; i++)
        ord[sprintf("%c", i)] = i
    write_in_order("negate")
    write_in_order("boundary")
    write_in_order("drop")
}
