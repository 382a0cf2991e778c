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
without sanitizers, or with what is asked for. What runs on the device, and what needs none, run side
by side.
  unit * +    pure parts                      fake * +   the suites in a simulated world
  idl *       the code generator              sim * +    all that can go wrong, simulated
  calls *     calls from end to end           faithful * is the simulation true to the device?
  connect *   every way connecting fails      kill *     processes killed at any moment
  hostile *   peers that break the rules      leaks *    what is left after closing
  foreign *   peers that are not Verbcall     lint       formatting, headers, symbols
  blows *     ports and devices that go       dist       the tarball, and its users
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
! wants dist || vc_need_packages pages || echo 'Verbcall: goes on without man pages' >&2

build=$(vc_build_folder "$here")
mkdir -p "$build" || exit 1
totals=$build/totals
rm -f "$totals.failed" "$totals.rdma.failed"
: >"$totals"
: >"$totals.rdma"
failed=0

# One of the tests that are not of a build folder: NAME COMMAND...
check()
{
    name=$1
    shift
    ! wants "$name" || VC_TEST_TIMEOUT=1800 tests/tap.sh "$name" "$totals" "$@" || failed=1
}

# The folder of a variant: "plain", "asan", "tsan".
folder_of()
{
    [ "$1" = plain ] && echo "$build" || echo "$build-$1"
}

# Builds each of the variants that has a suite to run, with all its programs. lint and dist look only at the library.
build_all()
{
    if [ -z "$local_suites$rdma_suites$wire_suite" ]; then
        if wants lint || wants dist; then
            vc_build "$build" --enable-werror || die 'FAILED: it does not build'
        fi
        return
    fi
    for one in $variants; do
        options=--enable-werror
        [ "$one" = plain ] || options="$options --enable-$one"
        # shellcheck disable=SC2086 # words
        vc_build "$(folder_of "$one")" $options && vc_make "$(folder_of "$one")" check-programs ||
            die 'FAILED: it does not build'
    done
}

# Sanitizers make calls slow: fewer of them, and fewer times each of gRPC's cases.
calls_of()
{
    [ "$1" = plain ] && echo "${VC_TEST_CALLS-}" || echo "${VC_TEST_CALLS:-10000}"
}
times_of()
{
    [ "$1" = plain ] && echo 200 || echo 20
}

# --- two lanes, side by side ---

# What needs no device: by itself one processor's work.
lane_here()
{
    [ -n "$variant" ] || check dist tests/dist.sh "$build"
    for one in $variants; do
        [ -n "$local_suites" ] || break
        echo "== $one"
        suites=$local_suites
        [ "$variants" = tsan ] || [ "$one" != tsan ] || suites=$(wanted_of 'unit fake sim')
        # shellcheck disable=SC2086 # words
        VC_TEST_CALLS=$(calls_of "$one") VC_TEST_TIMES_FAKE=${VC_TEST_TIMES_FAKE:-$(times_of "$one")} \
            tests/inside.sh "$(folder_of "$one")" "$totals" $suites || failed=1
    done
    [ -z "$variant" ] || return "$failed"
    check lint tests/lint.sh "$build"
    check fuzz tests/fuzz/run.sh "$build"
    return "$failed"
}

# What runs on the device, which is most often a guest.
lane_rdma()
{
    for one in $variants; do
        [ "$variants" = tsan ] || [ "$one" != tsan ] || break
        folder=$(folder_of "$one")
        [ -z "$rdma_suites$wire_suite" ] || echo "== $one, over RDMA"
        # shellcheck disable=SC2086
        [ -z "$rdma_suites" ] ||
            VC_TEST_CALLS=$(calls_of "$one") tests/rdma --timeout 2400 --share "$folder" --share "$build" -- \
                "$PWD/tests/inside.sh" "$folder" "$totals.rdma" $rdma_suites || failed=1
        [ -z "$wire_suite" ] || tests/tap.sh wire "$totals" tests/wire.sh "$folder" || failed=1
    done
    [ -z "$variant" ] || return "$failed"
    check vm tests/vm/selftest
    check examples tests/examples.sh
    return "$failed"
}

echo "$where"
local_suites=$(wanted_of "$native")
rdma_suites=$(wanted_of "$over_rdma")
wire_suite=$(wanted_of "$on_wire")
variants=${variant:-plain}
[ -n "$wanted$variant" ] || variants='plain asan tsan'
build_all

# The other lane's words are shown when this one has ended. Whoever stops us stops it, too; a program that it runs then
# ends by itself.
beside=$build/beside.log
lane_here >"$beside" 2>&1 &
pid=$!
# Two ends that poll in a guest suffer from whoever takes their processors.
renice -n 15 -p "$pid" >/dev/null 2>&1
trap 'kill "$pid" 2>/dev/null; exit 1' INT TERM HUP
lane_rdma || failed=1
wait "$pid" || failed=1
cat "$beside"
# Once more, where whoever sees only the end finds it.
cat "$totals.failed" "$totals.rdma.failed" 2>/dev/null

awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$totals" "$totals.rdma"
exit $failed
