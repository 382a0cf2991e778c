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

# WHERE NAME: succeeds if there is such a test
is_there()
{
    case $1 in
    lint) grep -q "^ *check $2 " tests/lint.sh ;;
    fake/faithful) grep -q "{\"$2\", " tests/fake/faithful*.c ;;
    *) [ -f "tests/$1.c" ] && grep -qE "(^|\\()$2[(,)]" "tests/$1.c" ;;
    esac
}

while IFS='	' read -r statement answer; do
    case $answer in
    'not yet: '[0-9]*)
        grep -qx "${answer#not yet: }" "$scratch/missing" || echo "$statement: nothing of that number is missing: $answer"
        echo "${answer#not yet: }" >>"$scratch/needed"
        ;;
    'none: '?*) ;;
    *)
        # shellcheck disable=SC2016 # backquotes of Markdown
        [ -z "$(printf '%s' "$answer" | sed 's/`[a-z_/]*: [a-zA-Z0-9_ ]*`//g; s/, //g')" ] && [ -n "$answer" ] ||
            echo "$statement: no answer: $answer"
        # shellcheck disable=SC2016 # backquotes of Markdown
        printf '%s' "$answer" | grep -o '`[^`]*`' | tr -d '`' | while read -r test; do
            is_there "${test%%: *}" "${test#*: }" || echo "$statement: there is no test $test"
        done
        ;;
    esac
done <"$scratch/rows"

touch "$scratch/needed"
sort -u "$scratch/needed" | comm -13 - "$scratch/missing" | sed 's/$/ is said to be missing, and no statement needs it/'
