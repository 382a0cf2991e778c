#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/names.sh: prints each file and function that documents or comments name and that does not exist, or is not in the file
# where a line of a document says it is. Names of man pages, vc_call(3), are no functions; CHANGES.md names former ones.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Prints the project's files of these kinds; without git, all that exist.
files()
{
    { git ls-files 2>/dev/null || find . -type f | sed 's/^\.\///'; } | grep -E "$1" | grep -v '^tests/idl/golden/'
}

files '\.(md|scd)$' | grep -vx CHANGES.md | xargs cat >"$scratch/documents"
files '\.([ch]|sh|awk|am)$' | xargs grep -hE '^ *(/?\*|#|//)|/\*' | grep -v '#include' >"$scratch/comments"
files '\.[ch]$' | xargs grep -hvE '^ *(/?\*|//)' | grep -ohE '\b[a-z_][a-z0-9_]*\(' | sort -u >"$scratch/code"
files '\.sh$' | xargs grep -ohE '^[a-z_]+\(' | sort -u >>"$scratch/code"

# Names of files of other projects follow the name of a folder, or an address, and are not matched.
grep -ohE '(^|[^/A-Za-z0-9_-])(transport|cm|rpc|idl|modules|fake|doc|proto|tests|bench|examples|include|man|samples)/[A-Za-z0-9_./-]*\.(c|h|sh|awk|md|proto|am)\b' \
    "$scratch/documents" "$scratch/comments" | sed 's/^[^a-z]//' | sort -u | while read -r file; do
    [ -e "$file" ] || echo "there is no file $file"
done

# In a list only the first function has its whole name. my_work() belongs to the reader, and shop_stock_take() is generated from
# the tutorial's service.
{ grep -ohE '\b[a-z][a-z0-9_]*\(\)' "$scratch/documents" | grep -v '^my_\|^shop_stock_'; grep -ohE '\bvc_[a-z0-9_]*\(\)' "$scratch/comments"; } | tr -d ')' |
    sort -u | grep -vxFf "$scratch/code" | sed 's/^/there is no function /; s/$/)/'

# A line NAME() ... FILE.c says in which file the function is.
grep -ohE '[a-z_0-9]+\(\) +.*\b(rpc|cm|transport)/[a-z_/]+\.c' "$scratch/documents" |
    sed -E 's/.*[^a-z_0-9]?\b([a-z_0-9]+)\(\)[^()]*[^a-z_]((rpc|cm|transport)\/[a-z_\/]+\.c)$/\1 \2/' | sort -u >"$scratch/places"
cut -d ' ' -f 2 "$scratch/places" | sort -u | xargs -r grep -HoE '^[a-z_0-9]+\(' | sed -E 's/(.*):(.*)\(/\2 \1/' | sort -u |
    comm -23 "$scratch/places" - | sed 's/ /() is not in /'
