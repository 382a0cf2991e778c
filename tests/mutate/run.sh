#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/run.sh TOP WORK MUTANT: links one mutant that prepare.sh has made, and runs the tests that come to its line,
# those first that soonest notice. Prints whether one did.
set -u

top=$1
work=$2
mutant=$work/mutants/$3
tab=$(printf '\t')
IFS=$tab read -r file line kind from to runs <"$mutant/drawn" || exit 1
object=$(cat "$mutant/name")

# The tests, each with its time: those first that bear the file's name, or take little time for much of the file.
in_order()
{
    printf '%s\n' "$runs" | tr ' ' '\n' | F=$file awk '
        BEGIN { stem = ENVIRON["F"]; sub(/.*\//, "", stem); sub(/\.c$/, "", stem) }
        FILENAME != "-" { key = $1; gsub(/\//, "_", key); name[key] = $1; time[key] = $2; next }
        { split($1, part, ":") }
        part[1] in name {
            of_name = name[part[1]] ~ ("/(test|suite)_" stem "(_|$)")
            print (time[part[1]] + 0.05) / (part[2] * part[2] + 0.001) / (of_name ? 100 : 1), name[part[1]], time[part[1]]
        }' "$work/times" - | sort -n | cut -d ' ' -f 2-
}

# Several times what it takes when nothing is wrong.
limit_of()
{
    awk -v time="$1" 'BEGIN { print int(5 + 3 * time) }'
}

# link fake|device: once for each mutant. The generator is a program of its own.
link()
{
    [ -e "$mutant/libvc-$1.so" ] && return
    sed "s|^$object\$|$mutant/object.o|" "$work/objects" | sh "$top/tests/mutate/link.sh" "$top" "$work" "$1" "$mutant"
}

link_for()
{
    case $file-$1 in
    idl/*)
        [ -e "$mutant/protoc-gen-verbcall" ] || sh -c "$(sed "s| $object | $mutant/object.o |
            s| -o protoc-gen-verbcall | -o $mutant/protoc-gen-verbcall |" "$work/plugin")" &&
            ln -sf "$work/base"/*.so "$mutant" ;;
    *-tests/unit/*) link device ;;
    *) link fake && { [ "$1" != idl ] || ln -sf "$work/base/protoc-gen-verbcall" "$mutant"; } ;;
    esac
}

found=
in_order >"$mutant/tests"
while read -r test time; do
    if ! link_for "$test" >"$mutant/log" 2>&1; then
        found='the linker'
    elif ! sh "$top/tests/mutate/test.sh" "$top" "$mutant" "$(limit_of "$time")" "$test" </dev/null >/dev/null 2>&1; then
        found=$test
    fi
    [ -z "$found" ] || break
done <"$mutant/tests"

[ -n "$found" ] && result=caught || result=survived
printf '%s %s:%s %s | %s -> %s |%s\n' "$result" "$file" "$line" "$kind" "$from" "$to" "${found:+ by $found}"
rm -rf "$mutant"
