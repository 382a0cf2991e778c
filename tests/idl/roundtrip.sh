# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Random messages through a generated client and server (tests/sim/roundtrip.c), against
# what protoc makes of them: a part of test_idl.sh. VC_ROUNDTRIP is the
# program. shellcheck shell=sh

# coded WAY TYPE - a batch as protoc has it: decode to text, encode from it
coded()
{
    "$protoc" "--$1=Batch" -I. -I "$here/good" "batch_$2.proto"
}

# same WHAT FILE FILE
same()
{
    cmp "$2" "$3" && return
    echo "$1: $made"
    return 1
}

# round TYPE SEED - protobuf-c's bytes are protoc's, and both arrive as they
# are. Bytes of maps' entries may differ where the key or value is 0.
round()
{
    made="roundtrip make $1 $2 200"
    "$roundtrip" make "$1" "$2" 200 >ours && coded decode "$1" <ours >ours.text &&
        coded encode "$1" <ours.text >theirs &&
        "$roundtrip" through "$1" <ours >ours.back &&
        "$roundtrip" through "$1" <theirs >theirs.back &&
        coded decode "$1" <theirs.back >theirs.text || return 1
    [ "$1" = maps ] || same 'protoc encodes them otherwise' ours theirs || return 1
    same 'ours came back otherwise' ours ours.back &&
        same 'those of protoc came back otherwise' ours.text theirs.text
}

if [ -x "$roundtrip" ]; then
    for type in kinds2 kinds3 maps; do
        printf 'syntax = "proto3"; import "%s.proto"; message Batch { repeated %s.All all = 1; }\n' \
            $type $type >batch_$type.proto
        for start in 1 2 3; do
            check "200 random messages of $type.proto are what protoc makes of them, seed $start" \
                round $type $start
        done
    done
else
    skip "random messages are what protoc makes of them" "tests/sim/roundtrip has not been built"
fi
