#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/prepare.sh TOP WORK KIND COUNT: makes the first COUNT mutants of WORK/drawn/KIND, in the build folder.
# Each has a folder WORK/mutants/KIND-NUMBER with its line of that list in `drawn`, the source, and its object. Mutants
# listed as equivalent go to WORK/drawn/KIND.equivalent instead. Mutants that do not compile, or compile to the code of
# the original, are left out.
set -u

top=$1
work=$2
kind=$3
count=$4
tab=$(printf '\t')
: >"$work/drawn/$kind.equivalent"

# True if this mutant is one of tests/mutate/equivalent. A line there is FILE | KIND | ORIGINAL -> CHANGED | REASON.
equivalent()
{
    VC_KEY="$1 | $kind | $2 -> $3 | " awk 'index($0, ENVIRON["VC_KEY"]) == 1 { found = 1 } END { exit !found }' \
        "$top/tests/mutate/equivalent"
}

# compile FOLDER FILE: makes FOLDER/FILE.o from the source FOLDER/FILE.
compile()
{
    make -s -o Makefile -f "$top/tests/mutate/mutate.mk" FILE="$2" FOLDER="$1" "$1/$2.o" 2>/dev/null
}

n=0
while [ "$n" -lt "$count" ] &&
    IFS=$tab read -r file line _ _ number from to runs; do
    if equivalent "$file" "$from" "$to"; then
        printf '%s:%s %s -> %s\n' "$file" "$line" "$from" "$to" >>"$work/drawn/$kind.equivalent"
        continue
    fi
    mutant=$work/mutants/$kind-$((n + 1))
    mkdir -p "$mutant/${file%/*}" || exit 1
    awk -v name="$file" -v apply="$number" -f "$top/tests/mutate/candidates.awk" "$work/src/$file" >"$mutant/$file"
    compile "$work/src" "$file" || exit 1
    if compile "$mutant" "$file" && ! cmp -s "$mutant/$file.o" "$work/src/$file.o"; then
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$kind" "$from" "$to" "$runs" >"$mutant/drawn"
        n=$((n + 1))
    else
        rm -rf "$mutant"
    fi
done <"$work/drawn/$kind"
