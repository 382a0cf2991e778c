# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Reads the *.counts of all runs (see counts.sh) and prints how much of the code was covered. `top` is the folder of the
# sources. What was not covered is written to `list`. Exits with 1 if the lines or branches covered are below lines_goal
# or branches_goal percent.

$1 == "l" { key = $2 " " $3; if (!(key in line) || $4) line[key] = $4 }
$1 == "b" { key = $2 " " $3 " " $4; if (!(key in branch) || $5) branch[key] = $5 }

# Reads the marks of a file: why[LINE] is the reason why a line need not be covered.
function marks_read(file,    text, n, from, reason)
{
    from = ""
    for (n = 1; (getline text <(top "/" file)) > 0; n++) {
        source[file " " n] = text
        reason = from
        if (match(text, /\/\* not covered( from here)?: .*\*\//)) {
            reason = substr(text, RSTART, RLENGTH)
            sub(/^\/\* not covered( from here)?: /, "", reason)
            sub(/ *\*\/$/, "", reason)
            if (text ~ /not covered from here: /)
                from = reason
        } else if (text ~ /\/\* covered again \*\//)
            from = ""
        if (reason != "")
            why[file " " n] = reason
    }
    close(top "/" file)
    marked[file] = 1
}

function folder_of(file)
{
    sub(/\/.*/, "", file)
    return file
}

function count(what, file, done)
{
    all[what, file]++
    all[what, folder_of(file)]++
    all[what, "all"]++
    if (done) {
        ran[what, file]++
        ran[what, folder_of(file)]++
        ran[what, "all"]++
    }
}

# Counts one line or branch; `at` is "FILE LINE".
function judge(what, at, done, text,    part, file)
{
    split(at, part, " ")
    file = part[1]
    if (!(file in marked))
        marks_read(file)
    if (!done && (at in why)) {
        excepted[what]++
        if (!(at in told))
            exceptions = exceptions sprintf("  %s:%d: %s\n", file, part[2], why[at])
        told[at] = 1
        return
    }
    count(what, file, done)
    if (!done)
        printf "%s:%05d: %s%s\n", file, part[2], text, source[at] | ("sort >" list)
}

# If `what` does not occur, all of it ran.
function percent(what, of)
{
    return all[what, of] ? 100 * ran[what, of] / all[what, of] : 100
}

function show(of)
{
    printf "%-34s %6d %6d %6.1f %8d %6d %6.1f\n", of, all["line", of], ran["line", of], percent("line", of), \
        all["branch", of], ran["branch", of], percent("branch", of)
}

# Prints the n files with the most lines that did not run.
function show_worst(n,    i, file, worst, missing)
{
    for (i = 0; i < n; i++) {
        worst = ""
        for (file in marked)
            if (!(file in shown)) {
                missing = all["line", file] - ran["line", file]
                if (worst == "" || missing > most || (missing == most && file < worst)) {
                    worst = file
                    most = missing
                }
            }
        if (worst == "" || most == 0)
            return
        shown[worst] = 1
        show(worst)
    }
}

END {
    for (key in line)
        judge("line", key, line[key], "")
    for (key in branch) {
        split(key, part, " ")
        judge("branch", part[1] " " part[2], branch[key], "branch " part[3] " of ")
    }
    close("sort >" list)

    printf "%-34s %6s %6s %6s %8s %6s %6s\n", "", "lines", "ran", "%", "branches", "taken", "%"
    n = split("rpc cm transport idl", folders, " ")
    for (i = 1; i <= n; i++)
        show(folders[i])
    print "files with the most lines that did not run:"
    show_worst(20)
    printf "marked as not to be covered: %d lines, %d branches\n%s", excepted["line"], excepted["branch"], exceptions

    printf "lines_percent %.1f\n", percent("line", "all")
    printf "branches_percent %.1f\n", percent("branch", "all")
    exit percent("line", "all") < lines_goal || percent("branch", "all") < branches_goal
}
