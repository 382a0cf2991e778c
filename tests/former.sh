#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/former.sh BUILD [COMMIT]: tests that this library and that of an older commit work with each other (e32704c: the last
# one before hellos carried features). Builds tests/former/ with both, and makes calls, streams, drain and resume between them,
# where the RDMA device is. BUILD is where this library has been built. Prints TAP.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh
mkdir -p "$1" && build=$(vc_plain_path "$1") || exit 1
commit=${2-e32704c}
top=$PWD
folder=$build/former

die()
{
    echo "Bail out! $*"
    exit 1
}

# Succeeds if the folder has all of that commit.
is_exported()
{
    [ "$(cat "$folder/source/.whole" 2>/dev/null)" = "$(git rev-parse "$commit")" ]
}

export_commit()
{
    rm -rf "$folder" && mkdir -p "$folder/source" && git archive --format=tar "$commit" | tar -xf - -C "$folder/source" &&
        git rev-parse "$commit" >"$folder/source/.whole"
}

# program SOURCE BUILT NAME [FLAG]: makes $folder/NAME from what a user has: headers, plugin, library.
program()
{
    code=$folder/$3.code
    mkdir -p "$code" &&
        protoc -I tests/former --plugin=protoc-gen-verbcall="$2/protoc-gen-verbcall" --verbcall_out="$code" former.proto || return 1
    # shellcheck disable=SC2046 # flags
    ${CC:-cc} -O1 -Wall -D_GNU_SOURCE -o "$folder/$3" -I "$code" -I "$1/include" $(pkg-config --cflags libprotobuf-c) \
        ${4-} tests/former/former.c tests/former/breaker.c "$code"/*.c -L "$2/.libs" -Wl,-rpath,"$2/.libs" -lverbcall $(pkg-config --libs libprotobuf-c libibverbs)
}

if ! git rev-parse --verify --quiet "$commit^{commit}" >/dev/null; then
    echo "1..0 # SKIP there is no commit $commit here"
    exit
fi
is_exported || export_commit || die "cannot export $commit"
(cd "$folder/source" && vc_build "$folder/build" --disable-tests) || die "$commit does not build"
vc_build_product "$build" || die 'this library does not build'
program "$folder/source" "$folder/build" old "-include tests/former/names.h" || die "former.c does not build with $commit"
program "$top" "$build" new || die 'former.c does not build'
cd "$folder" || exit 1
exec "$top/tests/rdma" --timeout 900 --share "$build" -- sh "$top/tests/former/inside.sh" "$folder/old" "$folder/new"
