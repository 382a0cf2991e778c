#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests of protoc-gen-verbcall, in TAP. Takes from the environment
#   VC_PLUGIN   path of the plugin
#   VC_ROUNDTRIP  path of the program tests/sim/roundtrip; without it its tests are skipped
#   VC_INCLUDE  folder of the public headers; default: that of the sources
#   srcdir      folder of the sources, or of this script
#   VC_TEST_COST  "no" leaves out what takes long: what a service of 1,000 methods costs, and standards of C but C11
#   CC CXX NM PROTOC  programs; defaults: cc c++ nm protoc
# and needs protoc, protoc-gen-c and libprotobuf-c. Good inputs are in good/,
# inputs to be refused in bad/ with the words of the refusal behind EXPECT.
#
# Lists of flags and files are split where they are used; what eval gets is
# expanded there.
# shellcheck disable=SC2016,SC2046,SC2086
set -u

: "${srcdir:=$(dirname "$0")}"
[ -f "$srcdir/test_idl.sh" ] || srcdir=$srcdir/tests/idl
here=$(cd "$srcdir" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
: "${CC:=cc}" "${CXX:=c++}" "${NM:=nm}" "${PROTOC:=protoc}"
: "${VC_INCLUDE:=$top/include}"
: "${VC_PLUGIN:?is to be the path of protoc-gen-verbcall}"
roundtrip=${VC_ROUNDTRIP:+$(cd "$(dirname "$VC_ROUNDTRIP")" 2>/dev/null && pwd)/$(basename "$VC_ROUNDTRIP")}
plugin=$(cd "$(dirname "$VC_PLUGIN")" && pwd)/$(basename "$VC_PLUGIN")
protoc=$(command -v "$PROTOC") || { echo "1..0 # SKIP no protoc"; exit 0; }
command -v protoc-gen-c >/dev/null || { echo "1..0 # SKIP no protoc-gen-c"; exit 0; }

# A sanitizer's finding has a status of its own, unlike our refusals.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}exitcode=99
UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}exitcode=99:halt_on_error=1
export ASAN_OPTIONS UBSAN_OPTIONS

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
mkdir good again bad bin empty

# Lists of flags are split at spaces, and the sources may be in a folder that
# has some in its name: by these links none is in a list.
ln -s "$top/proto" proto && ln -s "$here/foreign" foreign || exit 1

cflags=$(pkg-config --cflags libprotobuf-c)
libs=$(pkg-config --libs libprotobuf-c)
warnings="-Wall -Wextra -pedantic -Werror"
protos="-I proto -I foreign/protobuf -I foreign/protobuf-c"
number=0

# check SENTENCE COMMAND... - one test: whether the command succeeds. What it
# prints is shown when it does not.
check()
{
    sentence=$1
    shift
    number=$((number + 1))
    if "$@" >log 2>&1; then
        echo "ok $number - $sentence"
    else
        echo "not ok $number - $sentence"
        sed 's/^/# /' log | head -n 40
    fi
}

skip()
{
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# generate OUT ARGUMENT... - the plugin, run by protoc
generate()
{
    out=$1
    shift
    "$protoc" --plugin=protoc-gen-verbcall="$plugin" --verbcall_out="$out" "$@"
}

good()
{
    generate "$1" -I "$here/good" $protos $goods
}

# says TEXT COMMAND... - the command fails and prints the text
says()
{
    text=$1
    shift
    if "$@" >said 2>&1; then
        echo "no refusal"
        return 1
    fi
    grep -qF -e "$text" said && return 0
    echo "wanted: $text"
    cat said
    return 1
}

# What is generated, and that it compiles.

goods=$(cd "$here/good" && find . -name '*.proto' | sed 's,^\./,,' | sort)

names_are_as_promised()
{
    for proto in $goods; do
        for ending in vc.h vc.c pb-c.h pb-c.c; do
            case $proto:$ending in
            not_generated.proto:pb-c.*) continue ;;
            esac
            echo "${proto%.proto}.$ending"
        done
    done | sort >expected
    (cd good && find . -type f | sed 's,^\./,,' | sort) | diff expected -
}

# Each header has a guard of its own, of which the file's path can be read.
guards_differ()
{
    grep -qx '#ifndef VERBCALL_dep_2fcommon_VC_H' good/dep/common.vc.h &&
        grep -qx '#ifndef VERBCALL_c_5fpackage_VC_H' good/c_package.vc.h &&
        find good -name '*.vc.h' -exec sed -n '/^#ifndef VERBCALL/p' {} + | sort | uniq -d >twice && [ ! -s twice ]
}

no_blanks_at_ends()
{
    grep -qx ' \*' good/comments.vc.h && ! grep -n ' $' good/comments.vc.[ch]
}

# A file with the line ends of another system.
crlf_is_one_line_end()
{
    mkdir -p crlf && sed 's/$/\r/' "$here/good/comments.proto" >crlf/comments.proto &&
        "$protoc" -I crlf -I proto --plugin=protoc-gen-verbcall="$plugin" --verbcall_out=crlf crlf/comments.proto &&
        diff good/comments.vc.h crlf/comments.vc.h
}

# compile STANDARD FILE... - all sources, none linked
compile()
{
    std=$1
    shift
    for source; do
        $CC -std="$std" $warnings $cflags "-I$VC_INCLUDE" -Igood -c "$source" -o object.o ||
            return 1
    done
}

greeter()
{
    generate "$1" -I "$top/examples/greeter" greeter.proto
}

greeter_is_golden()
{
    diff -u "$here/golden/greeter.vc.h" good/greeter.vc.h &&
        diff -u "$here/golden/greeter.vc.c" good/greeter.vc.c
}

# The sets of files hang on protoc and on include/; they are compared below.
streams_are_golden()
{
    for ending in vc.h vc.c; do
        sed '/__file\[\] = {/,/^};/d' good/streams.$ending |
            diff -u "$here/golden/streams.$ending" - || return 1
    done
}

greeter_exports()
{
    $CC $cflags "-I$VC_INCLUDE" -Igood -c good/greeter.vc.c -o greeter.o &&
        $NM -g greeter.o | sed -n 's/.* [A-TV-Z] //p' | sort >exported &&
        printf '%s\n' demo_greeter_add demo_greeter_say_hello demo_greeter_service |
        diff - exported
}

streams_need()
{
    $CC $cflags "-I$VC_INCLUDE" -Igood -c good/streams.vc.c -o streams.o &&
        $NM -u streams.o | sed -n 's/.* U \(vc_\)/\1/p' | sort >needed &&
        printf '%s\n' vc_call_no_handler vc_channel_call vc_server_add | diff - needed
}

# file_is_set SERVICE PROTO - what reflection tells is what protoc writes
file_is_set()
{
    "$protoc" -I "$here/good" $protos --include_imports -o set "$2" &&
        ./kinds file "$1" | cmp - set
}

# mixed LINE TEXT - a function with this line does not compile, as types differ
mixed()
{
    cat >mixed.c <<END_C || return
#include "streams.vc.h"
int mixed(struct vc_call *call, struct flow_flow_watch_client_stream *watched,
          struct flow_flow_chat_client_stream *chatting, struct flow_flow_chat_server_stream *handler,
          Flow__Line *line, Flow__Sum *sum, struct vc_channel *channel);
int mixed(struct vc_call *call, struct flow_flow_watch_client_stream *watched,
          struct flow_flow_chat_client_stream *chatting, struct flow_flow_chat_server_stream *handler,
          Flow__Line *line, Flow__Sum *sum, struct vc_channel *channel)
{
    (void)call, (void)watched, (void)chatting, (void)handler, (void)line, (void)sum, (void)channel;
    return $1 == VC_OK;
}
END_C
    if [ "$2" = compiles ]; then
        compile c11 mixed.c
    else
        ! compile c11 mixed.c >refused 2>&1 && grep -q incompatible refused
    fi
}

streams_do_not_mix()
{
    mixed 'flow_flow_chat_send(chatting, line)' compiles &&
        mixed 'flow_flow_chat_server_send(handler, sum)' compiles &&
        mixed 'flow_flow_chat_send(handler, line)' refused &&
        mixed 'flow_flow_chat_send(chatting, sum)' refused &&
        mixed 'flow_flow_add__send(chatting, line)' refused &&
        mixed 'flow_flow_watch_finish(chatting)' refused &&
        mixed 'flow_flow_chat_server_receive(chatting, &line)' refused &&
        mixed 'flow_flow_watch(channel, line, NULL, &chatting)' refused
}

link_run()
{
    for name in greeter optional levels limits keywords empty_service c_package; do
        echo "good/$name.vc.c good/$name.pb-c.c"
    done >sources
    $CC -std=c11 $cflags "-I$VC_INCLUDE" -Igood "$here/run.c" "$here/library.c" $(cat sources) $libs -o run
}

# Here nothing is said of calls that are deprecated.
link_kinds()
{
    for name in streams imports dep/common dep/public; do
        ls good/$name.*.c
    done >sources
    $CC -std=c11 $cflags $warnings -Wno-deprecated-declarations "-I$VC_INCLUDE" -Igood "$here/kinds.c" \
        "$here/library.c" $(cat sources) $libs -o kinds
}

only_services()
{
    mkdir services &&
        generate services:services -I "$top/examples/greeter" greeter.proto &&
        (cd services && ls) >listed &&
        printf '%s\n' greeter.vc.c greeter.vc.h | diff - listed &&
        diff -r -x '*.pb-c.*' services/greeter.vc.c good/greeter.vc.c
}

check "every good file is generated, folders and imports included" good good
check "each gives x.vc.h, x.vc.c, x.pb-c.h and x.pb-c.c" names_are_as_promised
check "headers have guards of their own" guards_differ
check "an empty line of a comment has no blank at its end" no_blanks_at_ends
check "a line that ends with CR and LF is one line" crlf_is_one_line_end
check "two runs give the same bytes" eval 'good again && diff -r good again'
check "the greeter is generated" greeter good
check "the greeter is what golden/ has" greeter_is_golden
check "methods of all kinds are what golden/ has" streams_are_golden
. "$here/features.sh"
. "$here/foreign.sh"
. "$here/compat.sh"
check "the greeter's object exports the documented names only" greeter_exports
check "one of streams needs nothing that only some programs call" streams_need
check "the parameter 'services' leaves messages out" only_services
check "a stream of another method, or of the other end, does not compile" streams_do_not_mix
check "comments and marks of deprecation are carried over" eval '
    grep -qF "/* Says hello to somebody. */" good/greeter.vc.h &&
    test "$(grep -c __attribute__..deprecated good/comments.vc.h)" = 9'

check "a program of it links" link_run
check "a client function reaches the handler with its argument" ./run handler
check "a handler that is NULL answers VC_UNIMPLEMENTED" ./run no_handler
check "tables have names, hashes, levels and the fingerprint by name" ./run table
check "a service without methods can be added" ./run empty
check "methods named by keywords, Init and Add can be called" ./run keywords
check "c_package changes names in C and not on the wire" ./run c_package
check "a proto3 optional field tells 0 from nothing" ./run optional

check "a program of all kinds of methods links" link_kinds
check "an asynchronous call gives its reply to the function" ./kinds async
check "a server's stream reaches its client" ./kinds server_stream
check "a client's stream reaches its handler" ./kinds client_stream
check "two streams of one call reach the other side" ./kinds both_stream
check "one gives its reply to a queue" ./kinds queued
check "callbacks of streams have the types of their method at either end" ./kinds callbacks
check "streams have functions for callbacks at either end" ./kinds try_send
check "a one-way call reaches its handler" ./kinds one_way
check "handlers of all kinds that are NULL answer VC_UNIMPLEMENTED" ./kinds no_handler
check "tables have kinds, timeouts and limits" ./kinds table
check "the file of a service is protoc's set of it and its imports" \
    file_is_set flow.Flow streams.proto
check "that of a second service of the file is the same" file_is_set flow.Again streams.proto
check "it has what is imported publicly, and nothing twice" \
    file_is_set demo.imports.Mixed imports.proto

# What is refused.

# refused FILE - in the language, or as a request in protobuf's text format
refused()
{
    wanted=$(expected "bad/$1")
    [ -n "$wanted" ] || { echo "it expects nothing"; return 1; }
    case $1 in
    *.proto) says "$wanted" generate bad -I "$here/bad" $protos "$1" ;;
    *)
        "$protoc" -I "$top/idl" --encode=idl.Request plugin.proto <"$here/bad/$1" >request.text &&
            "$plugin" <request.text >said && grep -aqF -e "$wanted" said ;;
    esac
}

# methods N - a service of so many
methods()
{
    echo 'syntax = "proto3"; package many; message M {} service Many {'
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "rpc Do" i " (M) returns (M);" }'
    echo '}'
}

# A service and a method for each macro of two words that the headers define
# here, with all that they have by _GNU_SOURCE.
header_macros()
{
    echo '#include <protobuf-c/protobuf-c.h>
#include <verbcall/verbcall.h>' >macros.c
    $CC -D_GNU_SOURCE $cflags "-I$VC_INCLUDE" -E -dM macros.c >macros || return 1
    sed -n '/__\|VC_\|VERBCALL_\|PROTOBUF_C_/d; s/^#define \([A-Z][A-Z0-9]*\)_\([A-Z0-9_]*\) .*/\1 \2/p' macros >pairs
    [ -s pairs ] && tr A-Z a-z <pairs >lower || return 1
    while read -r service method; do
        echo "syntax = \"proto3\"; message M {} service $service { rpc $method (M) returns (M); }" >bad/macro.proto
        says "is '$(echo "${service}_$method" | tr a-z A-Z)' in C, which the headers" \
            generate bad -I bad macro.proto || return 1
    done <lower
}

# capture FILE ARGUMENT... - keeps the request that protoc makes
capture()
{
    printf '#!/bin/sh\ncat >"%s"\nprintf "\\020\\001"\n' "$work/$1" >bin/capture
    chmod +x bin/capture
    shift
    "$protoc" --plugin=protoc-gen-verbcall=bin/capture -I "$here/good" $protos --verbcall_out=bad "$@"
}

for proto in $(cd "$here/bad" && echo *.*); do
    check "refused: $(echo "${proto%.*}" | tr _ ' ')" refused "$proto"
done
check "refused: a service and a method that make a macro of a header" header_macros
methods 1024 >good/most.proto
methods 1025 >bad/many.proto
check "a service of 1024 methods is generated" generate good -I good most.proto
check "and compiles" compile c99 good/most.vc.c
check "refused: one of 1025" says "many.proto:1: service 'many.Many' has 1025 methods" \
    generate bad -I bad many.proto
check "refused: an unknown parameter" says "unknown parameter 'fast'; there are 'services'" \
    generate services,fast:bad -I "$here/good" plain.proto
[ "${VC_TEST_COST-}" = no ] || . "$here/size.sh"
check "a request is captured" capture request optional.proto
check "without protoc-gen-c the error names its package" \
    says "not in PATH; it comes with the package protobuf-c-compiler" \
    env PATH="$work/empty" "$protoc" --plugin=protoc-gen-verbcall="$plugin" \
    --verbcall_out=bad -I "$here/good" plain.proto
check "with 'services' it is not needed" env PATH="$work/empty" "$protoc" \
    --plugin=protoc-gen-verbcall="$plugin" --verbcall_out=services:bad -I "$here/good" plain.proto

# A protoc-gen-c that does not do its work.

# chained BODY ARGUMENT... - generates with a shell script as protoc-gen-c
chained()
{
    printf '#!/bin/sh\n%s\n' "$1" >bin/protoc-gen-c
    chmod +x bin/protoc-gen-c
    shift
    (PATH=$work/bin:$PATH && generate bad "$@")
}

# The child's request has lost what it must not see, and that is all.
child_request()
{
    chained "cat >'$work/adapted'" -I "$here/good" "$1"
}

child_request_equal()
{
    capture whole no_services.proto && child_request no_services.proto && cmp whole adapted
}

child_request_adapted()
{
    child_request optional.proto &&
        "$protoc" --decode=idl.Request -I "$top/idl" plugin.proto <adapted >decoded &&
        grep -q 'name: "limit"' decoded && grep -q 'name: "_limit"' decoded &&
        ! grep -q 'service {' decoded && ! grep -q '^ *17: ' decoded &&
        "$protoc" --decode=idl.Request -I "$top/idl" plugin.proto <request >decoded &&
        grep -q 'service {' decoded && grep -q '^ *17: 1' decoded
}

big()
{
    awk 'BEGIN {
        print "syntax = \"proto3\"; package big;"
        for (i = 0; i < 2000; i++) {
            printf "// Comment of message %d.\nmessage M%d {\n", i, i
            for (j = 1; j < 12; j++)
                printf "  // Comment of field %d.\n  optional string f%d = %d;\n", j, j, j
            print "}"
        }
        print "service Big { rpc Do (M1) returns (M2); }"
    }' >good/big.proto
    generate good -I good big.proto && test "$(wc -c <good/big.pb-c.c)" -gt 1000000
}

# There, what is looked for to initialise a union (idl/unions.c) is where no union is.
default_as_it_is()
{
    echo 'syntax = "proto2"; package d; message D { optional string s = 1 [default = "X__NOT_SET, {0}"]; }' >good/d.proto
    generate good -I good d.proto && grep -qF '"X__NOT_SET, {0}"' good/d.pb-c.c
}

# Nor in a comment of such a union's members.
comment_as_it_is()
{
    cat >good/e.proto <<'END_PROTO' || return
syntax = "proto3";
package e;
message E {
  oneof x {
    bytes a = 1;
    // Like X__NOT_SET, {0} of C.
    int32 b = 2;
  }
}
END_PROTO
    generate good -I good e.proto && grep -qF 'Like X__NOT_SET, {0} of C.' good/e.pb-c.h &&
        grep -qF 'E__X__NOT_SET, {{0,NULL}}' good/e.pb-c.h
}

check "its failure is told" says "protoc-gen-c failed with exit status 3" \
    chained "exit 3" -I "$here/good" plain.proto
check "its death by a signal is told" says "protoc-gen-c died of signal 11" \
    chained 'kill -SEGV $$' -I "$here/good" plain.proto
check "its error is passed on" says "protoc-gen-c: oops" \
    chained "cat >/dev/null; printf '\\012\\004oops'" -I "$here/good" plain.proto
check "an answer that is none is told" says "gave an answer that cannot be read" \
    chained "cat >/dev/null; echo no" -I "$here/good" plain.proto
check "a message without services and optional fields reaches it unchanged" child_request_equal
check "services and proto3_optional do not reach it" child_request_adapted
check "megabytes pass through both pipes" big
check "a default value that reads like a union's is left as it is" default_as_it_is
check "a comment that reads like a union's is left as it is, and the union gets its braces" comment_as_it_is
check "a file of blanks without a line's end does no harm" chained \
    "cat >/dev/null; printf '\\172\\016\\012\\010x.pb-c.hz\\002  '" -I "$here/good" plain.proto
check "one that reads nothing does not stop us" chained "exec <&-; exit 0" -I good big.proto

. "$here/roundtrip.sh"

# Requests that protoc does not make, and the command line.

# survives FILE... - none of the requests ends the plugin but by itself
survives()
{
    for file; do
        "$plugin" <"$file" >answer 2>said
        case $? in
        0) [ -s answer ] ;;
        1) [ -s said ] && [ ! -s answer ] ;;
        *) false ;;
        esac || { echo "$file: $?"; cat said; return 1; }
    done
}

# damaged DIR COUNT ARGUMENT... - a request captured, and copies with damage
damaged()
{
    dir=$1 count=$2
    shift 2
    mkdir "$dir" && capture "$dir.request" "$@" &&
        ./mutate random "$dir.request" "$dir" "$count" && survives "$dir"/*
}

deep()
{
    ./mutate deep "$@" >deep.request && PATH=$work/bin:$PATH "$plugin" <deep.request >answer
}

# The field is as deep as any may be: in the request, the file and 97 messages.
deepest_adapted()
{
    printf '#!/bin/sh\n%s\n' "cat >'$work/adapted'" >bin/protoc-gen-c && deep 97 linux &&
        grep -q linux deep.request && ! grep -q linux_ deep.request && grep -q linux_ adapted
}

# answers OPTION PATTERN - and takes nothing for a request
answers()
{
    "$plugin" "$1" </dev/null >said && grep -q -e "$2" said
}

# fails_full OPTION - what it is asked for cannot be written
fails_full()
{
    "$plugin" "$1" </dev/null 2>said >/dev/full
    [ $? -eq 1 ] && grep -q "cannot write to standard output: No space left" said
}

terminal()
{
    says "protoc --verbcall_out=DIR" env TERMINAL_PLUGIN="$plugin" \
        timeout 20 script -qec '"$TERMINAL_PLUGIN"' /dev/null
}

check "the maker of damaged requests compiles" \
    $CC -std=c11 "$here/mutate.c" -o mutate
check "400 damaged requests do no harm" damaged damaged 400 --verbcall_opt=services \
    optional.proto imports.proto
check "200 damaged requests with streams and options do no harm" damaged streams 200 \
    --verbcall_opt=services streams.proto
check "60 damaged requests that reach protoc-gen-c do no harm" damaged chained 60 \
    comments.proto c_package.proto
check "messages nested 90 deep are generated" deep 90
check "the deepest field reaches protoc-gen-c adapted" deepest_adapted
check "a field that is deeper is refused" says "nested too deeply" deep 98 linux
check "messages nested 10,000 deep are refused" says "nested too deeply" deep 10000
check "an empty request is refused" says "is empty" eval '"$plugin" </dev/null'
check "a request without files is refused" says "names no files" \
    eval 'printf "\\022\\010services" | "$plugin"'
check "--version says the version" answers --version "^protoc-gen-verbcall [0-9]"
check "--help says how to use it" answers --help "--verbcall_out=DIR"
if [ -c /dev/full ]; then
    check "--version fails when it cannot be written" fails_full --version
    check "--help fails when it cannot be written" fails_full --help
else
    skip "--version and --help fail when they cannot be written" "no /dev/full"
fi
check "an argument is refused" says "takes no arguments" "$plugin" x.proto
if timeout 20 script -qec true /dev/null >/dev/null 2>&1; then
    check "at a terminal it explains itself" terminal
else
    skip "at a terminal it explains itself" "no script(1), or no terminal for it"
fi

echo "1..$number"
