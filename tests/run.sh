#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds Verbcall and passes its tests: see usage() below.
set -u

usage()
{
    cat <<'END'
usage: sh tests/run.sh [--asan|--tsan] [SUITE...]
Builds Verbcall and runs its tests; installs what is missing for that. Tests over RDMA run on this
machine if it has an RDMA device, otherwise in a virtual machine with Soft-RoCE. Ends with a line of
totals; exit status 0 when nothing failed.

Without a suite: all of them, then those that are marked * again with the address and undefined
behaviour sanitizers, and those marked + with the thread sanitizer. With suites: only these, built
without sanitizers, or with what is asked for.
  unit * +    pure parts                      fake * +   the suites in a simulated world
  idl *       the code generator              sim * +    all that can go wrong, simulated
  calls *     calls from end to end           faithful * is the simulation true to the device?
  connect *   every way connecting fails      kill *     processes killed at any moment
  hostile *   peers that break the rules      leaks *    what is left after closing
  foreign *   peers that are not Verbcall     lint       formatting, headers, symbols
  blows *     ports and devices that go       dist       make distcheck
  resume *    QPs that die under calls        examples   README's first command
  interop *   gRPC's interoperability cases
  wire *      two guests, wire cut or bad     vm         the virtual machine itself
  fuzz        a peer's bytes, by libFuzzer
Environment: VC_BUILD_DIR=FOLDER builds there instead of in build/ (and FOLDER-asan, FOLDER-tsan);
VC_TEST_GUEST=1 uses the virtual machine in any case.
END
}

die()
{
    echo "Verbcall: $*" >&2
    exit 1
}

native='unit idl fake sim'
over_rdma='calls connect faithful foreign hostile interop kill blows resume leaks'
on_wire='wire'

here=$PWD
CDPATH='' cd -P -- "$(dirname -- "$0")/.." || exit 1
. tests/packages.sh
. tests/build.sh

variant=
case ${1-} in
-h | --help) usage; exit ;;
--asan | --tsan) variant=${1#--}; shift ;;
-*) usage >&2; exit 2 ;;
esac
wanted=$*
wants()
{
    case " ${wanted:-$1} " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}
for suite in $wanted; do
    case " $native $over_rdma $on_wire lint fuzz dist vm examples " in
    *" $suite "*) ;;
    *) usage >&2; exit 2 ;;
    esac
done

# Those of the suites $1 that are wanted.
wanted_of()
{
    for suite in $1; do
        ! wants "$suite" || echo "$suite"
    done
}

where=$(tests/rdma --where)
groups=test
case $where in
*'in a guest'*) groups="$groups guest" ;;
*) ! wants wire || groups="$groups guest" ;;
esac
[ -n "$variant" ] || ! wants fuzz || groups="$groups fuzz"
# shellcheck disable=SC2086 # words
vc_need_packages $groups bench || die 'cannot test it without these packages'

build=$(vc_build_folder "$here")
mkdir -p "$build" || exit 1
totals=$build/totals
: >"$totals"
failed=0

# One of the tests that are not of a build folder: NAME COMMAND...
check()
{
    name=$1
    shift
    ! wants "$name" || VC_TEST_TIMEOUT=900 tests/tap.sh "$name" "$totals" "$@" || failed=1
}

# The suites of a build, in its folder: VARIANT CONFIGURE-OPTION...
suites_of()
{
    suites_folder=$build${1:+-$1}
    title=${1:-plain}
    shift
    local_suites=$(wanted_of "$native")
    rdma_suites=$(wanted_of "$over_rdma")
    wire_suite=$(wanted_of "$on_wire")
    [ -n "$local_suites$rdma_suites$wire_suite" ] || return 0
    vc_build "$suites_folder" "$@" && vc_make "$suites_folder" check-programs || die 'FAILED: it does not build'
    echo "== $title"
    # shellcheck disable=SC2086 # words
    [ -z "$local_suites" ] || tests/inside.sh "$suites_folder" "$totals" $local_suites || failed=1
    # shellcheck disable=SC2086
    [ -z "$rdma_suites" ] ||
        tests/rdma --timeout 1800 --share "$suites_folder" --share "$build" -- \
            "$PWD/tests/inside.sh" "$suites_folder" "$totals" $rdma_suites || failed=1
    [ -z "$wire_suite" ] || tests/tap.sh wire "$totals" tests/wire.sh "$suites_folder" || failed=1
}

echo "$where"
case $variant in
'') suites_of '' --enable-werror ;;
*) VC_TEST_CALLS=${VC_TEST_CALLS:-10000} suites_of "$variant" --enable-werror "--enable-$variant" ;;
esac
if [ -z "$wanted$variant" ]; then
    export VC_TEST_CALLS="${VC_TEST_CALLS:-10000}"
    suites_of asan --enable-werror --enable-asan
    over_rdma='' on_wire='' native='unit fake sim'
    suites_of tsan --enable-werror --enable-tsan
fi
if [ -z "$variant" ]; then
    echo '== the rest'
    check lint tests/lint.sh "$build"
    check fuzz tests/fuzz/run.sh "$build"
    check vm tests/vm/selftest
    check examples tests/examples.sh
    check dist tests/dist.sh "$build"
fi

awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$totals"
exit $failed
