#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/prepare.sh TOP WORK KIND COUNT: makes the first COUNT mutants of WORK/drawn/KIND, in the build folder. Each
# has a folder WORK/mutants/KIND-NUMBER with its line of that list in `drawn`, its compile command's object in `name`, and
# the object itself. Those that are listed as equivalent go to WORK/drawn/KIND.equivalent instead; those that do not
# compile, or to the same code as the original, are left out.
set -u

top=$1
work=$2
kind=$3
count=$4
tab=$(printf '\t')
: >"$work/drawn/$kind.equivalent"

# Is this mutant one of tests/mutate/equivalent? A line there is FILE | KIND | ORIGINAL -> CHANGED | REASON.
equivalent()
{
    VC_KEY="$1 | $kind | $2 -> $3 | " awk 'index($0, ENVIRON["VC_KEY"]) == 1 { found = 1 } END { exit !found }' \
        "$top/tests/mutate/equivalent"
}

# compile COMMAND SOURCE OBJECT. The path of the source does not show in the object.
compile()
{
    # shellcheck disable=SC2086 # words
    $1 -w -Wno-error "-ffile-prefix-map=${2%/*/*}=." -c -o "$3" "$2" 2>/dev/null
}

# The original's object, without debugging information, for comparison.
original()
{
    echo "$work/drawn/$kind.$(printf '%s' "$1" | tr / _).o"
}

n=0
while [ "$n" -lt "$count" ] &&
    IFS=$tab read -r file line _ _ number from to runs; do
    if equivalent "$file" "$from" "$to"; then
        printf '%s:%s %s -> %s\n' "$file" "$line" "$from" "$to" >>"$work/drawn/$kind.equivalent"
        continue
    fi
    command=$(F=$file awk -F '\t' '$1 == ENVIRON["F"] { print $3; exit }' "$work/compile")
    object=$(F=$file awk -F '\t' '$1 == ENVIRON["F"] { print $2; exit }' "$work/compile")
    [ -n "$command" ] || continue
    mutant=$work/mutants/$kind-$((n + 1))
    mkdir -p "$mutant/${file%/*}" || exit 1
    awk -v name="$file" -v apply="$number" -f "$top/tests/mutate/candidates.awk" "$work/src/$file" >"$mutant/$file"
    [ -e "$(original "$file")" ] || compile "$command" "$work/src/$file" "$(original "$file")" || exit 1
    if compile "$command" "$mutant/$file" "$mutant/object.o" && ! cmp -s "$mutant/object.o" "$(original "$file")"; then
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$kind" "$from" "$to" "$runs" >"$mutant/drawn"
        echo "$object" >"$mutant/name"
        n=$((n + 1))
    else
        rm -rf "$mutant"
    fi
done <"$work/drawn/$kind"
