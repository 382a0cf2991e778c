#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/exported.sh BUILD: every exported function is called by a program of tests/suite, which runs over real RDMA: by
# its own sources, or by a generated function that these call. Prints the others, and exits 1 if there are any.
set -eu

cd -- "$(dirname -- "$0")/.."
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints the code of C sources without comments and strings.
code()
{
    sed 's/\\"//g; s/"[^"]*"//g; s,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' "$@" |
        awk '/\/\*/ { sub(/\/\*.*/, ""); print; inside = 1; next } inside && /\*\// { sub(/.*\*\//, ""); inside = 0 } !inside'
}

# Prints each word once.
words()
{
    grep -o '[A-Za-z_][A-Za-z_0-9]*' | sort -u
}

# Prints "CALLER FUNCTION" for what generated functions call. A name in the first column begins a function. The runners
# of handlers are called by the library, so "main" stands for their caller.
callers()
{
    awk '
        /^static/ && !/inline/ { runner = 1 }
        /^[a-z_0-9]+\(/ { name = $0; sub(/\(.*/, "", name) }
        /^}/ { name = ""; runner = 0 }
        name != "" {
            line = $0
            while (match(line, /vc_[a-z_]+\(/)) {
                print runner ? "main" : name, substr(line, RSTART, RLENGTH - 1)
                line = substr(line, RSTART + RLENGTH)
            }
        }'
}

code tests/suite/*.c | words >"$scratch/used"
find "$build" -name '*.vc.[ch]' >"$scratch/generated"
[ -s "$scratch/generated" ] || { echo "$build has no generated code: make check-programs first"; exit 1; }
while read -r file; do
    code "$file" | callers
done <"$scratch/generated" | sort -u >"$scratch/calls"

grep -o '\bvc_[a-z_]*;' verbcall.map | tr -d ';' | sort >"$scratch/mapped"
awk 'NR == FNR { used[$1] = 1; next } $1 in used { print $2 }' "$scratch/used" "$scratch/calls" | sort -u - "$scratch/used" >"$scratch/called"
missing=$(comm -23 "$scratch/mapped" "$scratch/called")
[ -n "$missing" ] || exit 0
echo "no program of tests/suite calls these exported functions:"
printf '%s\n' "$missing"
exit 1
