#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/run.sh TOP WORK MUTANT: links one mutant that prepare.sh has made, and runs the tests that reach its
# line. The tests that are likely to fail soonest run first. Prints whether a test failed.
set -u

top=$1
work=$2
mutant=$work/mutants/$3
tab=$(printf '\t')
IFS=$tab read -r file line kind from to runs <"$mutant/drawn" || exit 1

# Prints the tests, each with its time. Tests with the file's name, and quick tests that reach much of the file,
# come first.
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

# Prints the time limit: several times the test's usual time.
limit_of()
{
    awk -v time="$1" 'BEGIN { print int(10 + 4 * time) }'
}

# link NAME: makes libvc-fake.so, libvc-device.so or protoc-gen-verbcall, once for each mutant.
link()
{
    [ -e "$mutant/$1" ] ||
        make -s -o Makefile -f "$top/tests/mutate/mutate.mk" FILE="$file" FOLDER="$mutant" "$mutant/$1"
}

# The generator is a program of its own.
link_for()
{
    case $file-$1 in
    idl/*) link protoc-gen-verbcall && ln -sf "$work/base"/*.so "$mutant" ;;
    *-tests/unit/*) link libvc-device.so ;;
    *) link libvc-fake.so && { [ "$1" != idl ] || ln -sf "$work/base/protoc-gen-verbcall" "$mutant"; } ;;
    esac
}

# run LIBRARY TEST SECONDS: status 0 if the test passed, 124 or more if it did not end.
run()
{
    sh "$top/tests/mutate/test.sh" "$top" "$1" "$3" "$2" </dev/null >/dev/null 2>&1
}

# notices TEST SECONDS: sets `found` if the test fails. A test that does not end must end without the mutant, in the
# same time: otherwise the machine is slow, and the test is repeated.
notices()
{
    for attempt in 1 2 3; do
        run "$mutant" "$1" "$2"
        case $? in
        0) return 1 ;;
        124 | 137) run "$work/base" "$1" "$2" && found="$1, which did not end" && return ;;
        *) found=$1; return ;;
        esac
    done
    echo "$1 did not end $attempt times, nor without the mutant" >&2
    return 1
}

found=
in_order >"$mutant/tests"
while read -r test time; do
    if ! link_for "$test" >"$mutant/log" 2>&1; then
        found='the linker'
        break
    fi
    ! notices "$test" "$(limit_of "$time")" || break
done <"$mutant/tests"

[ -n "$found" ] && result=caught || result=survived
printf '%s %s:%s %s | %s -> %s |%s\n' "$result" "$file" "$line" "$kind" "$from" "$to" "${found:+ by $found}"
rm -rf "$mutant"
