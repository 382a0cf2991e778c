# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Part of test_idl.sh: the parameter compat=. Each case changes one place of a file whose older version is old.pb.
# shellcheck shell=sh disable=SC2154

mkdir -p old now

cat >old/bank.proto <<'END'
syntax = "proto2";
package bank;
import "verbcall/options.proto";
enum Kind { CASH = 0; CARD = 1; }
message Part { optional int32 n = 1; }
message Order {
  optional int32 count = 1;
  optional string text = 2;
  required bool sure = 3;
  repeated Part parts = 4;
  optional sint32 shift = 5;
  optional fixed32 f32 = 6;
  optional Kind kind = 7;
  repeated uint32 many = 8;
  reserved 20 to 22;
  oneof way { string by_name = 10; string by_key = 11; }
  optional string alone = 12;
}
message Answer { optional double sum = 1; }
service Bank {
  rpc Pay (Order) returns (Answer);
  rpc Watch (Order) returns (stream Answer);
  rpc Note (Order) returns (Answer) { option (verbcall.method).one_way = true; }
}
service Other { rpc Ask (Part) returns (Part); }
END

# changed SED - bank.proto after this change, generated with compat=old.pb
changed()
{
    sed "$1" old/bank.proto >now/bank.proto && ! cmp -s old/bank.proto now/bank.proto &&
        "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I now $protos --verbcall_opt=compat=old.pb --verbcall_out=now bank.proto
}

# The older version is accepted by Bank, and not by Other, which has not changed.
taken()
{
    changed "$1" && [ "$(grep -c 'static const uint32_t accepted' now/bank.vc.c)" = 1 ] &&
        grep -A1 'uint32_t accepted' now/bank.vc.c | grep -q "UINT32_C($old_fingerprint)"
}

refuses()
{
    says "$2" changed "$1" && grep -q ' bank.proto:[1-9]' said
}

old_versions()
{
    "$protoc" -I old $protos --include_imports -o old.pb bank.proto &&
        "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I old $protos --verbcall_out=old bank.proto &&
        old_fingerprint=$(sed -n 's/.*fingerprint) UINT32_C(\(.*\)),/\1/p' old/bank.vc.c | head -n 1) && [ -n "$old_fingerprint" ]
}

# A name is not on the wire.
names_make_no_difference()
{
    changed 's/int32 count = 1/int32 number = 1/;s/double sum = 1/& [deprecated = true]/' &&
        ! grep -q accepted now/bank.vc.c && grep -q "fingerprint) UINT32_C($old_fingerprint)" now/bank.vc.c
}

nothing_to_accept()
{
    cp old/bank.proto now/ && "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I now $protos --verbcall_opt=compat=old.pb \
        --verbcall_out=now bank.proto && cmp old/bank.vc.c now/bank.vc.c
}

several_versions()
{
    sed 's/optional double sum = 1;/& optional int32 more = 2;/' old/bank.proto >now/bank.proto &&
        "$protoc" -I now $protos --include_imports -o newer.pb bank.proto &&
        sed 's/optional double sum = 1;/& optional int32 more = 2; optional int32 yet = 3;/' old/bank.proto >now/bank.proto &&
        "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I now $protos --verbcall_opt=compat=old.pb,compat=newer.pb,compat=old.pb \
            --verbcall_out=now bank.proto && [ "$(sed -n '/accepted\[\]/,/};/p' now/bank.vc.c | grep -c UINT32_C)" = 2 ]
}

compiles_in_c_and_cxx()
{
    taken 's/optional int32 n = 1;/& optional int32 m = 2;/' ||
        { changed 's/optional int32 n = 1;/& optional int32 m = 2;/' && [ "$(grep -c 'static const uint32_t accepted' now/bank.vc.c)" = 2 ]; } &&
        $CC -std=c11 $warnings $cflags "-I$VC_INCLUDE" -Inow -c now/bank.vc.c -o object.o &&
        $CXX -std=c++11 $warnings $cflags "-I$VC_INCLUDE" -Inow -x c++ -c now/bank.vc.c -o object.o
}

check "an older version is written and generated" old_versions
check "with compat= of the same version nothing is accepted" nothing_to_accept
check "nor where fields have other names" names_make_no_difference
check "several versions are accepted, each once" several_versions
check "what accepts older versions compiles in C and C++" compiles_in_c_and_cxx

while IFS='|' read -r sentence change; do
    check "compatible: $sentence" taken "$change"
done <<'END'
a field is added|s/double sum = 1;/& optional int32 more = 2;/
a field is removed and its number reserved|s/optional string alone = 12;/reserved 12;/
a method is added|s/rpc Pay/rpc More (Order) returns (Order); &/
int32 becomes uint64|s/int32 count = 1/uint64 count = 1/
int32 becomes bool|s/int32 count = 1/bool count = 1/
int32 becomes an enum|s/int32 count = 1/Kind count = 1/
an enum becomes int64|s/optional Kind kind = 7/optional int64 kind = 7/
sint32 becomes sint64|s/sint32 shift/sint64 shift/
fixed32 becomes sfixed32|s/fixed32 f32/sfixed32 f32/
string becomes bytes|s/optional string text/optional bytes text/
a string becomes repeated|s/optional string text/repeated string text/
repeated messages become one|s/repeated Part parts/optional Part parts/
an enum has one value more|s/CARD = 1;/& COIN = 2;/
an enum's value is removed and reserved|s/CARD = 1;/reserved 1;/
a field moves into a oneof of its own|s/optional string alone = 12;/oneof o { string alone = 12; string next = 13; }/
END

while IFS='|' read -r sentence change text; do
    check "not compatible: $sentence" refuses "$change" "$text"
done <<'END'
a method is removed|/rpc Pay/d|its method 'Pay' was removed
a method streams no more|s/returns (stream Answer)/returns (Answer)/|method 'Watch' is not compatible with compat=old.pb: which sides stream
a method is no more one_way|s/ { option.*one_way = true; }/;/|method 'Note' is not compatible
a field has another number|s/text = 2/text = 9/|field 2 'text' of 'bank.Order' is not compatible with compat=old.pb: it was removed without reserving
int32 becomes string|s/int32 count = 1/string count = 1/|field 1 'count' of 'bank.Order' is not compatible with compat=old.pb: its type was int32 and is string
int32 becomes sint32|s/int32 count = 1/sint32 count = 1/|its type was int32 and is sint32
fixed32 becomes fixed64|s/fixed32 f32/fixed64 f32/|its type was fixed32 and is fixed64
an enum becomes bool|s/optional Kind kind = 7/optional bool kind = 7/|its type was enum and is bool
a message becomes bytes|s/repeated Part parts/repeated bytes parts/|its type was message and is bytes
double becomes float|s/double sum/float sum/|its type was double and is float
a number becomes repeated|s/optional int32 count/repeated int32 count/|only strings, bytes and messages
repeated numbers become one|s/repeated uint32 many/optional uint32 many/|only strings, bytes and messages
a required field is removed|s/required bool sure = 3;/reserved 3;/|a required field may not be removed
a required field is added|s/required bool sure = 3;/& required bool too = 13;/|a required field may not be added
a required field becomes optional|s/required bool sure/optional bool sure/|may not become required, or be so no more
a reserved number is used|s/reserved 20 to 22;/optional int32 reused = 22;/|its number was reserved
a field moves into a oneof with others|s/string by_key = 11; }/string by_key = 11; string alone = 12; }/;/optional string alone/d|in one oneof in one version only
a oneof is split|s/string by_key = 11; }/} optional string by_key = 11;/|in one oneof in one version only
an enum's value is removed|s/ CARD = 1;//|its value 1 'CARD' was removed without reserving
END

set_without_imports()
{
    printf 'syntax = "proto2"; package part; message P { optional int32 n = 1; }\n' >old/part.proto
    printf 'syntax = "proto2"; package whole; import "part.proto"; service S { rpc Do (part.P) returns (part.P); }\n' >old/whole.proto
    "$protoc" -I old -o alone.pb whole.proto &&
        says 'lacks a message of method' "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I old --verbcall_opt=compat=alone.pb \
            --verbcall_out=now whole.proto && grep -qF include_imports said
}

check "a set without its imports is refused" set_without_imports
check "a file that is not there is refused" says 'compat=none.pb cannot be opened: No such file' \
    "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I old $protos --verbcall_opt=compat=none.pb --verbcall_out=now bank.proto
check "a file that is no set is refused" says 'compat=old/bank.proto is no FileDescriptorSet' \
    "$protoc" --plugin=protoc-gen-verbcall="$plugin" -I old $protos --verbcall_opt=compat=old/bank.proto --verbcall_out=now bank.proto
