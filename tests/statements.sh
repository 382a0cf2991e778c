#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/statements.sh [FILE]: checks that the tables of doc/rdma_cm.md, or of FILE, name tests that exist. Rows begin with a name and
# a number. Prints each row without an answer, each test that does not exist, each number of a missing statement that is not in the
# list at the end, and each entry of that list that no row needs.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
document=${1:-doc/rdma_cm.md}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# "STATEMENT<tab>ANSWER" for each row; the numbers must increase by one.
awk -F ' *[|] *' '
    /^\| [A-Za-z_]+[0-9]* [0-9]+ \|/ {
        split($2, id, " ")
        if (id[2] != last[id[1]] + 1)
            print "statement " $2 " is out of its order" > "/dev/stderr"
        last[id[1]] = id[2]
        print $2 "\t" (NF == 6 && $3 != "" && $4 != "" ? $5 : "")
    }' "$document" >"$scratch/rows"
[ -s "$scratch/rows" ] || echo "$document has no rows"
sed -n '/^## What is missing/,$s/^- \([0-9]*\): .*/\1/p' "$document" >"$scratch/missing"

# Prints "WHERE: NAME" for each test there may be: what begins a line, or is an argument, may be no test.
tests_there()
{
    sed -n 's/^ *check \([a-z_A-Z0-9]*\) .*/lint: \1/p' tests/lint.sh
    sed -n 's/.*{"\([a-zA-Z0-9_ ]*\)", .*/fake\/faithful: \1/p' tests/fake/faithful*.c
    find tests -name '*.c' | xargs awk '{
        for (rest = "(" $0; match(rest, /[(][a-zA-Z_0-9]+[(,)]/); rest = substr(rest, RSTART + RLENGTH - 1))
            print FILENAME ": " substr(rest, RSTART + 1, RLENGTH - 2)
    }' | sed 's/^tests\/\([^:]*\)\.c: /\1: /'
}
tests_there | sort -u >"$scratch/there"

# Each answer is one of three: "not yet: N", "none: WHY", or a list of tests in backquotes.
awk -F '\t' -v missing="$scratch/missing" -v there="$scratch/there" -v needed="$scratch/needed" '
    BEGIN {
        while ((getline line <missing) > 0)
            is_missing[line]
        while ((getline line <there) > 0)
            is_there[line]
    }
    $2 ~ /^not yet: [0-9]/ {
        number = substr($2, 10)
        if (!(number in is_missing))
            print $1 ": nothing of that number is missing: " $2
        print number >needed
        next
    }
    $2 ~ /^none: ./ { next }
    {
        for (rest = $2; match(rest, /`[^`]*`/); rest = substr(rest, RSTART + RLENGTH)) {
            test = substr(rest, RSTART + 1, RLENGTH - 2)
            if (!(test in is_there))
                print $1 ": there is no test " test
        }
        left = $2
        gsub(/`[a-z_\/]*: [a-zA-Z0-9_ ]*`/, "", left)
        gsub(/, /, "", left)
        if ($2 == "" || left != "")
            print $1 ": no answer: " $2
    }' "$scratch/rows"

touch "$scratch/needed"
sort -u "$scratch/needed" | comm -13 - "$scratch/missing" | sed 's/$/ is said to be missing, and no statement needs it/'
