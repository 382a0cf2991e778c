# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What a service of 1,000 methods costs: a part of test_idl.sh. The figures
# are printed. Time is that of processors, which a busy machine stretches and a
# slow one has more of: so it is judged by the pace of this machine at this
# moment, that is, by what compiling a reference takes between the things that
# are measured. shellcheck shell=sh

memory_max_kib=204800
# What 1,000 methods may take where the reference takes reference_ms: there they
# took 7 s when this was promised.
time_max_ms=10000
reference_ms=880

# A compiler that remembers what it compiled would take no time for it.
export CCACHE_DISABLE=1

# reference - a source that stays as it is, of the kinds of lines that are generated
reference()
{
    awk 'BEGIN {
        print "#include <stdint.h>\n#include <string.h>"
        for (i = 0; i < 100; i++) {
            printf "struct s%d { uint32_t a, b; const char *name; uint64_t sum[4]; };\n", i
            printf "static const struct s%d table%d[] = {", i, i
            for (k = 0; k < 8; k++)
                printf " {%d, %d, \"name%d_%d\", {%d}},", i, k, i, k, i * k
            print " };"
            args = "(const struct s" i " *s, size_t len, const char *name, uint64_t *out)"
            printf "int find%d%s;\nint\nfind%d%s\n{\n", i, args, i, args
            print "    uint64_t sum = 0;\n\n    for (size_t i = 0; i < len; i++) {"
            printf "        const struct s%d *t = &table%d[i %% 8];\n\n", i, i
            print "        switch (s[i].a % 4) {\n        case 0: sum += s[i].b * t->a; break;"
            print "        case 1: sum ^= s[i].sum[sum % 4] >> (t->b % 64); break;"
            print "        default: if (strcmp(s[i].name, name) == 0) { *out = sum; return (int)i; }"
            print "        }\n    }\n    *out = sum;\n    return -1;\n}"
        }
    }'
}

# pace - adds to pace.cost what compiling the reference takes now
pace()
{
    ./cost pace.cost $CC -O2 $warnings -c reference.c -o reference.o
}

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
            -o object.o && pace || return 1
    done
}

# costs MESSAGES TIME_MAX_MS FLAG... - generates and compiles, within what it may cost
costs()
{
    rm -rf thousand plugin.cost compile.cost pace.cost
    mkdir thousand && thousand "$1" >thousand/thousand.proto && pace || return 1
    what="1,000 methods of $1 requests and replies"
    max_ms=$2
    shift 2
    printf '#!/bin/sh\nexec "%s/cost" "%s/plugin.cost" "%s"\n' "$work" "$work" "$plugin" >bin/costly
    chmod +x bin/costly
    "$protoc" --plugin=protoc-gen-verbcall=bin/costly --verbcall_out=thousand -I thousand \
        thousand.proto && compile_with "$@" || return 1
    read -r plugin_ms plugin_kib <plugin.cost
    compile_ms=$(awk '{ ms += $1 } END { print ms }' compile.cost)
    pace_ms=$(awk '{ ms += $1 } END { printf "%d", ms / NR + 1 }' pace.cost)
    paced_ms=$(((plugin_ms + compile_ms) * reference_ms / pace_ms))
    echo "# $what: generated in $plugin_ms ms and $((plugin_kib / 1024)) MiB," \
        "compiled with '$*' in $compile_ms ms, where the reference takes $pace_ms ms:" \
        "$paced_ms of $max_ms ms where it takes $reference_ms" >>figures
    [ "$plugin_kib" -le "$memory_max_kib" ] && [ "$paced_ms" -le "$max_ms" ] && return
    tail -n 1 figures
    return 1
}

: >figures
reference >reference.c
check "what measures costs compiles" $CC -std=c11 $warnings "$here/cost.c" -o cost
check "1,000 methods of 100 messages are generated in 200 MiB and compiled in 10 s" costs 100 "$time_max_ms" -O2
[ -z "${VC_TEST_LONG-}" ] || check "and with messages of their own in twice that" costs 1000 $((2 * time_max_ms)) -O0
cat figures
