#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/cross.sh BUILD [ARCHITECTURE...]: builds for other processors with Debian's cross compilers, and runs the suites unit
# and inproc there under qemu-user: s390x is big-endian, i386 has 32-bit pointers. In BUILD it builds for this machine, too, as
# the code generator runs here. Prints TAP, a test for each program.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/packages.sh
. tests/build.sh
mkdir -p "$1" && build=$(vc_plain_path "$1") || exit 1
shift
[ $# -gt 0 ] || set -- s390x i386
n=0

# Prints the compiler's name of a Debian architecture.
triplet()
{
    case $1 in
    i386) echo i686-linux-gnu ;;
    *) echo "$1-linux-gnu" ;;
    esac
}

# result STATUS NAME
result()
{
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
    fi
}

# The folders of libraries have Debian's names.
cross_build()
{
    folder=$build-$1
    libraries=/usr/lib/$1-linux-gnu/pkgconfig
    PKG_CONFIG_LIBDIR=$libraries:/usr/share/pkgconfig vc_configured "$folder" "--host=$(triplet "$1")" \
        --with-native-plugin="$build/protoc-gen-verbcall" --enable-werror 'CFLAGS=-g -O1' --disable-lto &&
        vc_make "$folder" native-programs
}

# cross_run ARCHITECTURE: one test for each program. As emulation is slow, the programs make fewer calls.
cross_run()
{
    cd "$build-$1" || return 1
    for program in tests/unit/test_* tests/suite/inproc_*; do
        case ${program##*/} in
        *.*) continue ;;
        esac
        VC_TEST_EMULATED=1 VC_TEST_CALLS_INPROC=1000 VC_TEST_TIMES=20 "$top/tests/one.sh" "qemu-$1" "$program" >one.log
        status=$?
        [ "$status" -eq 0 ] || tail -n 30 one.log | sed 's/^/# /'
        result "$status" "$1 ${program##*/}"
    done
}

top=$PWD
if ! vc_has_foreign; then
    echo '1..0 # SKIP only Debian has the libraries of other processors'
    exit
fi
if ! vc_build_product "$build"; then
    result 1 'this machine builds'
    set --
fi
for architecture; do
    if vc_need_packages "cross-$architecture" && cross_build "$architecture"; then
        cross_run "$architecture"
        cd "$top" || exit 1
    else
        result 1 "$architecture builds"
    fi
done
echo "1..$n"
