# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What a service of 1,000 methods costs: a part of test_idl.sh. The figures
# are printed. Time is that of processors, and judged by six times what it may
# be, as some are slow. shellcheck shell=sh

memory_max_kib=204800
time_max_ms=60000

# thousand MESSAGES - 1,000 methods of all kinds, of so many requests and replies
thousand()
{
    awk -v messages="$1" 'BEGIN {
        print "syntax = \"proto3\"; package thousand;"
        for (i = 0; i < messages; i++) {
            printf "// Asks.\nmessage Ask%d {\n", i
            print "  string name = 1; repeated int32 numbers = 2; optional int64 limit = 3; }"
            printf "message Reply%d { bytes data = 1; }\n", i
        }
        print "service Thousand {"
        for (i = 0; i < 1000; i++)
            printf "  // Method %d.\n  rpc Do%d (%sAsk%d) returns (%sReply%d);\n", i, i,
                (i % 4 >= 2) ? "stream " : "", i % messages, (i % 2) ? "stream " : "", i % messages
        print "}"
    }'
}

# compile_with FLAG... - what was generated, one source after the other
compile_with()
{
    for source in thousand/*.c; do
        ./cost compile.cost $CC "$@" $warnings $cflags "-I$VC_INCLUDE" -Ithousand -c "$source" \
            -o object.o || return 1
    done
}

# costs MESSAGES FLAG... - generates and compiles, within what it may cost
costs()
{
    rm -rf thousand plugin.cost compile.cost
    mkdir thousand && thousand "$1" >thousand/thousand.proto || return 1
    what="1,000 methods of $1 requests and replies"
    shift
    printf '#!/bin/sh\nexec "%s/cost" "%s/plugin.cost" "%s"\n' "$work" "$work" "$plugin" >bin/costly
    chmod +x bin/costly
    "$protoc" --plugin=protoc-gen-verbcall=bin/costly --verbcall_out=thousand -I thousand \
        thousand.proto && compile_with "$@" || return 1
    read -r plugin_ms plugin_kib <plugin.cost
    compile_ms=$(awk '{ ms += $1 } END { print ms }' compile.cost)
    echo "# $what: generated in $plugin_ms ms and $((plugin_kib / 1024)) MiB," \
        "compiled with '$*' in $compile_ms ms" >>figures
    [ "$plugin_kib" -le "$memory_max_kib" ] && [ $((plugin_ms + compile_ms)) -le "$time_max_ms" ] &&
        return
    tail -n 1 figures
    return 1
}

: >figures
check "what measures costs compiles" $CC -std=c11 $warnings "$here/cost.c" -o cost
check "1,000 methods of 100 messages are generated in 200 MiB and compiled in time" costs 100 -O2
check "and with messages of their own" costs 1000 -O0
cat figures
