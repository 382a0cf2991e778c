# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Files that others wrote (foreign/README.md): a part of test_idl.sh, behind
# features.sh. shellcheck shell=sh

grpc=$(cd "$here/foreign/grpc-proto" && find grpc -name '*.proto' | sort)
grpc_services=$(cd "$here/foreign/grpc-proto" && grep -l '^service' $grpc)
tests=$(cd "$here/foreign/protobuf-c" && find t -name '*.proto' | sort)
mkdir grpc tests

# All at once, with what they import.
grpc_generated()
{
    generate grpc -I foreign/grpc-proto $protos $grpc
}

grpc_links()
{
    links grpc objects/c11/grpc:*.o objects/c11/known:*.o
}

# One for one, as some have the same names.
tests_generated()
{
    for proto in $tests; do
        generate tests $protos "$proto" || return 1
    done
}

tests_link()
{
    for proto in $tests; do
        stem=tests/${proto%.proto}
        links tests "$(object c11 "$stem.pb-c.c")" "$(object c11 "$stem.vc.c")" || return 1
    done
}

# Of each file that has a service there is its table.
services_there()
{
    for proto in $grpc_services; do
        $NM "$(object c11 "grpc/${proto%.proto}.vc.c")" | grep -q ' [DR] .*_service$' ||
            { echo "$proto"; return 1; }
    done
}

# two_libraries KIND - programs of two libraries, each with a service and the
# same well-known types of its own
two_libraries()
{
    first="$(object c11 good/wellknown.vc.c) $(object c11 good/wellknown.pb-c.c)"
    second="$(object c11 grpc/grpc/lb/v1/load_balancer.vc.c) $(object c11 grpc/grpc/lb/v1/load_balancer.pb-c.c)"
    rm -f first.a second.a
    case $1 in
    archive)
        ar rc first.a $first objects/c11/known:*.o stub.o
        ar rc second.a $second objects/c11/known:*.o ;;
    shared)
        $CC -shared -o first.a $first objects/c11/known:*.o stub.o
        $CC -shared -o second.a $second objects/c11/known:*.o ;;
    esac &&
        $CC $cflags $paths -Igrpc "-I$VC_INCLUDE" "$here/two.c" ./first.a ./second.a $libs -o two && ./two
}

check "every file of gRPC's protocols is generated" grpc_generated
check "protobuf-c's test set is generated" tests_generated
for std in $standards; do
    check "gRPC's protocols compile as $std" objects $std '-Igrpc -Iknown -fPIC' grpc
    check "protobuf-c's test set compiles as $std" objects $std '-Itests -fPIC' tests
done
check "each of gRPC's $(echo $grpc_services | wc -w) files of services has a table" services_there
check "gRPC's protocols link into one library" grpc_links
check "protobuf-c's test set links" tests_link
check "archives that share well-known types link into one program" two_libraries archive
check "and shared libraries" two_libraries shared
