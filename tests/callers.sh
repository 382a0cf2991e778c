#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/callers.sh [--check]: at the end of its first comment, each of the product's headers lists the files that use its
# functions. This script writes these lists anew; with --check it prints the headers whose lists are not up to date.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
lists=$(mktemp) && header=$(mktemp) || exit 1
trap 'rm -f "$lists" "$header"' EXIT

git ls-files rpc cm transport idl modules | grep '\.[ch]$' | xargs awk -f tests/callers.awk >"$lists" || exit 1
cut -f 1 "$lists" | while read -r name; do
    awk -v name="$name" -F '\t' '
        # Prints a text as lines of a comment.
        function comment_print(text,    words, n, i, line) {
            n = split(text, words, " ")
            line = " *"
            for (i = 1; i <= n; i++) {
                if (length(line) + 1 + length(words[i]) > 80) {
                    print line
                    line = " *"
                }
                line = line " " words[i]
            }
            if (length(line) > 77) {
                print line
                line = ""
            }
            print line " */"
        }
        FILENAME == ARGV[1] { if ($1 == name) list = $2; next }
        !done && / \* Called by: / { skip = 1 }
        !done && !skip && /\*\// {
            line = $0
            sub(/ *\*\/.*/, "", line)
            if (line != "")
                held = held line "\n"
            held = held " *\n"
        }
        !done && /\*\// { printf "%s", held; comment_print(list); done = 1; next }
        !done { if (!skip) held = held $0 "\n"; next }
        { print }' "$lists" "$name" >"$header" || exit 1
    cmp -s "$header" "$name" && continue
    case ${1-} in
    --check) echo "$name: the list of callers is not that of the code: sh tests/callers.sh writes it" ;;
    *) cat "$header" >"$name" ;;
    esac
done
