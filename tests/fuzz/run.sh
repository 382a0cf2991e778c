#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/fuzz/run.sh BUILD [TARGET...]: builds the fuzz targets in BUILD/fuzz with clang, and runs each, or those named, for
# 2 s ($VC_FUZZ_SECONDS; two minutes with VC_TEST_LONG=1), two at a time, in TAP. What breaks a target is kept there, and how to run it again is printed.
# tests/fuzz/run.sh BUILD --seeds: writes the seeds of the corpora anew, after a change of the formats or of seeds.c.
set -u

# One line for each target: fuzz_NAME.c is built with these sources, and begins with what is in corpus/NAME, if anything.
targets()
{
    cat <<LIST
packet transport/wire/packet.c
metadata transport/wire/metadata.c
hello cm/connect/hello.c cm/connect/reject_reason.c
endpoint_file rpc/balance/endpoint_file.c
load_report rpc/load_report.c rpc/balance/load_weight.c
config modules/config/config.c modules/config/config_balance.c modules/config/config_method.c modules/config/config_reader.c
message transport/core/memory.c transport/core/misuse.c transport/core/timer.c rpc/codec/arena.c rpc/codec/codec.c rpc/codec/validate.c rpc/codec/fast_codec.c rpc/codec/fast_pack.c rpc/codec/whole.c tests/unit/test_message.pb-c.c tests/unit/test_message_proto2.pb-c.c
request idl/plugin.pb-c.c idl/adapt.c idl/arena.c idl/check.c idl/defaults.c idl/emit.c idl/emit_header.c idl/emit_inline.c \
 idl/emit_source.c idl/emit_stream.c idl/file_set.c idl/generate.c idl/members.c idl/model.c idl/names.c idl/place.c idl/request.c idl/schema.c idl/compat.c \
 idl/symbols.c idl/text.c idl/types.c idl/unions.c idl/wire.c
LIST
}

root=$(CDPATH='' cd -P -- "$(dirname -- "$0")/../.." && pwd) || exit 1
corpus=$root/tests/fuzz/corpus
seconds=2
[ -z "${VC_TEST_LONG-}" ] || seconds=120
seconds=${VC_FUZZ_SECONDS:-$seconds}
mkdir -p -- "$1/fuzz" && cd -- "$1/fuzz" || exit 1
here=$PWD
shift

# SANITIZERS PROGRAM SOURCE...; a source that is not here, generated, is the tree's.
compile()
{
    sanitizers=$1
    program=$2
    shift 2
    for source; do
        shift
        [ -e "$source" ] || source=$root/$source
        set -- "$@" "$source"
    done
    # shellcheck disable=SC2046 # flags
    clang -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror "-fsanitize=$sanitizers" \
        -fno-sanitize-recover=undefined -I. "-I$root" "-I$root/include" -o "$program" "$@" \
        $(pkg-config --cflags --libs libprotobuf-c jansson) -lm
}

# The types that messages are tried with, and that of requests.
generate()
{
    protoc "-I$root" --c_out=. "$root"/tests/unit/test_message*.proto "$root/idl/plugin.proto"
}

seeds_make()
{
    generate || return 1
    compile address,undefined seeds tests/fuzz/seeds.c transport/wire/packet.c transport/wire/metadata.c cm/connect/hello.c cm/connect/reject_reason.c rpc/balance/endpoint_file.c rpc/load_report.c modules/config/config.c modules/config/config_balance.c modules/config/config_method.c modules/config/config_reader.c rpc/codec/validate.c \
        tests/unit/test_message.pb-c.c tests/unit/test_message_proto2.pb-c.c && ./seeds "$1"
}

# Every seed is in the tree with the same bytes; the tree may have more.
seeds_agree()
{
    rm -rf made
    seeds_make made || return 1
    for seed in made/*/*; do
        cmp "$seed" "$corpus/${seed#made/}" || return 1
    done
}

# TARGET
run()
{
    target=$1
    set -- "$target.found"
    [ ! -d "$corpus/$target" ] || set -- "$@" "$corpus/$target"
    "./fuzz_$target" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
        -print_final_stats=1 "-artifact_prefix=$here/$target-" "$@"
}

# TARGET: builds and runs it, with its words in TARGET.log and its exit status in TARGET.status. What it finds new is kept
# for the next time in TARGET.found.
fuzz()
{
    mkdir -p "$1.found"
    rm -f "$1.status"
    # shellcheck disable=SC2046 # a line of the list
    {
        compile fuzzer,address,undefined "fuzz_$1" "tests/fuzz/fuzz_$1.c" \
            $(targets | sed -n "s/^$1 //p") && run "$1"
        echo $? >"$1.status"
    } >"$1.log" 2>&1 </dev/null
}

# TARGET: says how it went.
report()
{
    n=$((n + 1))
    if [ "$(cat "$1.status")" = 0 ] && runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$1.log") &&
        [ "${runs:-0}" -gt 0 ]; then
        echo "ok $n - any_bytes_will_do_for_$1"
        echo "# $runs inputs in $seconds s; $(find "$1.found" -type f | wc -l) of them kept"
        return
    fi
    failed=1
    echo "not ok $n - any_bytes_will_do_for_$1"
    sed -n "s,^.*Test unit written to ,# again: $here/fuzz_$1 ,p" "$1.log"
    grep -E -m 3 'ERROR|runtime error|error:' "$1.log" | sed 's/^/# /'
    tail -n 50 "$1.log" | sed 's/^/#   /'
}

export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1"
if [ "${1-}" = --seeds ]; then
    seeds_make "$corpus"
    exit
fi
names=${*:-$(targets | cut -d ' ' -f 1)}

n=1
failed=0
# shellcheck disable=SC2086 # names
echo 1..$(($(echo $names | wc -w) + 1))
if said=$(seeds_agree 2>&1); then
    echo 'ok 1 - the_corpora_have_the_seeds'
else
    echo 'not ok 1 - the_corpora_have_the_seeds'
    echo "# to write them anew: sh tests/fuzz/run.sh BUILD --seeds"
    printf '%s\n' "$said" | tail -n 20 | sed 's/^/# /'
    failed=1
fi
started=0
for name in $names; do
    fuzz "$name" &
    started=$((started + 1))
    [ $((started % 2)) -ne 0 ] || wait
done
wait
for name in $names; do
    report "$name"
done
exit $failed
