#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds Verbcall and runs its tests; see usage() below.
set -u

usage()
{
    cat <<'END'
usage: sh tests/run.sh [--long] [--asan|--tsan] [SUITE...]
Builds Verbcall and runs its tests; installs what is missing for that. Tests over RDMA run on this
machine if it has an RDMA device, otherwise in a virtual machine with Soft-RoCE. Prints the seconds
of each suite and ends with a line of totals; exit status 0 when nothing failed. tests/README.md says
what is in which suite.

Without a suite: all but those marked -, those marked * with the address and undefined behaviour
sanitizers, and those marked + with the thread sanitizer; of simulated worlds one in five. With suites: only these, built without
sanitizers, or with what is asked for. What runs on the device, and what needs none, run side by side,
but for the suites that measure real time without a device: these run alone at the end.
  unit *      pure parts                      fake *     the suites in a simulated world
  threads +   those that threads share
  idl         the code generator              sim        all that can go wrong, simulated
  calls       calls from end to end           faithful   is the simulation true to the device?
  datagrams   rdma+ud, and its bad peers
  connect     every way connecting fails      kill       processes killed at any moment
  hostile     peers that break the rules      leaks      what is left after closing
  foreign     peers that are not Verbcall     lint       formatting, headers, symbols
  blows       ports and devices that go       dist       the tarball, and its users
  resume      links that die under calls      examples   README's first command
  interop -   gRPC's interoperability cases   shm_basic  fewer suites through shared memory
  features    what calls may ask for          alive      dead peers are found by keepalive
  inproc      the same, within one process    fuzz       a peer's bytes, by libFuzzer
  tcp         the same, over TCP              qp         what QPs are connected with
  shm -       the same, by shared memory      devices    a process with two of them
  best        the same, at vc://              failover   vc:// whose RDMA device goes
  local       what only these have            judges     the benchmarks' verdicts
  wire -      two guests, wire cut or bad     containers podman, namespaces, few rights
--long runs what takes longer, too: those marked -, those marked * without sanitizers as well, fake,
sim and inproc with the thread sanitizer, idl, sim, inproc, local, tcp, shm, best and the suites over RDMA
with the other two, all worlds, all of hostile and features over RDMA, more seeds, rounds and fuzzing, clang's warnings in lint,
distcheck, vm (the virtual machine itself), coverage (by gcov), mutants (a sample of small mistakes
that the tests must notice), cross (unit and inproc on s390x and i386, emulated), image (that of
samples/container, by buildah), pods (containers that are given RDMA devices), former (an older commit
and this one, both ways) and figures (those that README promises).
Environment: VC_BUILD_DIR=FOLDER builds there instead of in build/, the tests in FOLDER-tests,
FOLDER-asan and FOLDER-tsan; VC_TEST_GUEST=1 uses the virtual machine in any case.
END
}

die()
{
    echo "Verbcall: $*" >&2
    exit 1
}

untimed='unit idl fake sim'
timed='tcp shm best local inproc'
native="$untimed $timed"
only_long='vm coverage mutants cross image pods former figures'
over_rdma='calls features connect datagrams qp devices failover faithful foreign hostile interop kill alive blows resume leaks'

here=$PWD
CDPATH='' cd -P -- "$(dirname -- "$0")/.." || exit 1
. tests/packages.sh
. tests/build.sh

variant=
long=
for option; do
    case $option in
    -h | --help) usage; exit ;;
    --long) long=1 ;;
    --asan | --tsan) variant=${option#--} ;;
    -*) usage >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
export VC_TEST_LONG="$long"
wanted=$*
wants()
{
    case " ${wanted:-$1} " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}
known="$native shm_basic threads $over_rdma wire"
[ -n "$variant" ] || known="$known lint judges fuzz dist containers examples $only_long"
for suite in $wanted; do
    case " $known " in
    *" $suite "*) ;;
    *) usage >&2; exit 2 ;;
    esac
done

# Prints which of the suites $1 were requested.
wanted_of()
{
    for suite in $1; do
        ! wants "$suite" || echo "$suite"
    done
}

where=$(tests/rdma --where)
groups='test'
case $where in
*'in a guest'*) groups="$groups guest" ;;
*) ! wants wire || groups="$groups guest" ;;
esac
[ -n "$variant" ] || ! wants fuzz || groups="$groups fuzz"
[ -n "$variant" ] || ! wants lint || groups="$groups lint"
# shellcheck disable=SC2086 # words
vc_need_packages $groups bench || die 'cannot test it without these packages'
[ -n "$variant" ] || ! wants containers || vc_need_packages containers || echo 'Verbcall: goes on without podman' >&2
{ ! wants dist && ! wants lint; } || vc_need_packages pages || echo 'Verbcall: goes on without man pages' >&2
! wants dist || vc_need_packages samples guest || echo 'Verbcall: goes on without the samples of CMake and Meson' >&2

build=$(vc_build_folder "$here")
mkdir -p "$build" || exit 1
totals=$build/totals
rm -f "$totals.failed" "$totals.rdma.failed"
: >"$totals"
: >"$totals.rdma"
failed=0

# NAME COMMAND...: runs a test that belongs to no build folder.
check()
{
    name=$1
    shift
    ! wants "$name" || VC_TEST_TIMEOUT=1800 tests/tap.sh "$name" "$totals" "$@" || failed=1
}

# A command that prints no TAP is one test, which passes by its exit status.
# shellcheck disable=SC2016 # sh expands it
check_status()
{
    name=$1
    shift
    check "$name" sh -c '"$@" && echo "ok 1 - $0" || echo "not ok 1 - $0"; echo 1..1' "$name" "$@"
}

# Tests are built in folders of their own, with options that make building fast. $build itself has what users get, with the
# defaults: dist, lint and examples use that.
folder_of()
{
    echo "$build-$1"
}

# VARIANT: configures the folder of "tests", "asan" or "tsan".
configure_variant()
{
    case $1 in
    tests) kind=--disable-lto ;;
    *) kind=--enable-$1 ;;
    esac
    # The default run's sanitized tests take less time than it takes to optimise them.
    optimised=1
    [ "$1" = tests ] || [ -n "$long$wanted$variant" ] || optimised=0
    # It links hundreds of programs, in a third of the time of GNU ld.
    linker=
    ! command -v mold >/dev/null || linker=LDFLAGS=-fuse-ld=mold
    vc_configured "$(folder_of "$1")" --enable-werror "CFLAGS=-g1 -O$optimised" "$kind" ${linker:+"$linker"}
}

# VARIANT: builds the programs that run on a device.
build_for_device()
{
    configure_variant "$1" && vc_make "$(folder_of "$1")" device-programs
}

# --- three lanes, side by side ---

# VARIANT SUITE...
run_native()
{
    one=$1
    shift
    [ $# -gt 0 ] || return 0
    echo "== $one"
    times=20 cost=no
    [ "$one" != tests ] || [ -z "$long$wanted" ] || { times=200 cost=; }
    configure_variant "$one" &&
        VC_TEST_TIMES_FAKE=$times VC_TEST_COST=$cost tests/native.sh "$(folder_of "$one")" "$totals" "$@" || failed=1
}

# VARIANT SUITE...: builds what run_native would run.
build_native()
{
    one=$1
    shift
    [ $# -eq 0 ] || { configure_variant "$one" && tests/native.sh "$(folder_of "$one")" - "$@"; } || failed=1
}

# Runs a function for each variant with its suites that measure real time: FUNCTION VARIANT SUITE...
each_timed()
{
    # shellcheck disable=SC2046 # words
    if [ -n "$variant" ]; then
        "$1" "$variant" $(wanted_of "$timed")
    elif [ -n "$wanted" ]; then
        "$1" tests $(wanted_of "$timed shm_basic")
    elif [ -n "$long" ]; then
        "$1" tests $timed && "$1" asan $timed && "$1" tsan inproc
    else
        "$1" tests tcp shm_basic best local inproc
    fi
}

# VARIANT SUITE...: these programs wait for most of their time, but with the thread sanitizer.
run_timed()
{
    VC_TEST_JOBS=
    [ "$1" = tsan ] || VC_TEST_JOBS=$(($(getconf _NPROCESSORS_ONLN) * 3))
    export VC_TEST_JOBS
    run_native "$@"
}

# VARIANT: runs the suites over RDMA. Sanitizers make calls slow: fewer of them.
run_rdma()
{
    [ -n "$rdma_suites$wire_suite" ] || return 0
    echo "== $1, over RDMA"
    folder=$(folder_of "$1")
    build_for_device "$1" || { failed=1; return; }
    if [ "$1" != tests ]; then
        export VC_TEST_CALLS="${VC_TEST_CALLS:-10000}"
    elif [ -z "$long$wanted" ]; then
        export VC_TEST_CALLS="${VC_TEST_CALLS:-5000}"
    fi
    # A crowd of 1000 clients has a QP each, all in this guest.
    # shellcheck disable=SC2086 # words
    [ -z "$rdma_suites" ] ||
        tests/rdma --timeout 2400 ${long:+--memory 6144} --share "$folder" --share "$build" -- \
            "$PWD/tests/inside.sh" "$folder" "$totals.rdma" $rdma_suites || failed=1
    [ -z "$wire_suite" ] || tests/tap.sh wire "$totals" tests/wire.sh "$folder" || failed=1
}

# The tests of what users get.
lane_product()
{
    [ -z "$variant" ] || return 0
    if wants lint || wants dist || wants containers; then
        vc_build_product "$build" || failed=1
    fi
    [ -n "$long$wanted" ] || export VC_LINT_QUICK=1
    check lint tests/lint.sh "$build"
    check judges sh bench/test_judges.sh
    check dist tests/dist.sh "$build"
    check containers tests/containers.sh "$build" "$(folder_of tests)"
    check fuzz tests/fuzz/run.sh "$build"
    return "$failed"
}

# The programs that need no device.
lane_here()
{
    if [ -n "$variant" ]; then
        # shellcheck disable=SC2046 # words
        run_native "$variant" $(wanted_of "$untimed${wanted:+ threads}")
        each_timed build_native
        return "$failed"
    fi
    # shellcheck disable=SC2046 # words
    if [ -n "$long$wanted" ]; then
        run_native tests $(wanted_of "$untimed${wanted:+ threads}")
    else
        # A simulated world itself tells leaks and double frees; what is freed is overwritten.
        export VC_TEST_SHARE=5 MALLOC_PERTURB_=165
        run_native tests idl sim
        unset MALLOC_PERTURB_
    fi
    if [ -z "$wanted" ]; then
        # shellcheck disable=SC2086 # words
        run_native asan ${long:+idl} unit fake ${long:+sim}
        # shellcheck disable=SC2086 # words
        run_native tsan ${long:+fake sim} threads
    fi
    each_timed build_native
    if [ -n "$long$wanted" ]; then
        check_status coverage sh tests/coverage.sh
        check_status mutants sh tests/mutate.sh --count 20
        check cross tests/cross.sh "$build"
        check image tests/image.sh "$build"
    fi
    return "$failed"
}

# The tests that run on the device, which is usually a guest's.
lane_rdma()
{
    run_rdma "${variant:-tests}"
    [ -z "$variant" ] || return "$failed"
    [ -z "$long" ] || [ -n "$wanted" ] || run_rdma asan
    [ -z "$long$wanted" ] || check vm tests/vm/selftest
    check examples tests/examples.sh
    [ -z "$long$wanted" ] || check pods tests/pods.sh "$build"
    [ -z "$long$wanted" ] || check former tests/former.sh "$build"
    return "$failed"
}

begin=$(date +%s)
echo "$where"
rdma_suites=$(wanted_of "$over_rdma")
# The other hostile peers, gRPC's cases, and what a channel does above its links are tried over TCP: the packets are the same.
hostile='=hostile =hostile_calls =hostile_half_sent =hostile_packets'
features='=features_async =features_balance =features_calls =features_close =features_interceptors'
features="$features =features_log =features_server =features_streams =features_uploads"
[ -n "$long$wanted$variant" ] ||
    rdma_suites=$(echo "$rdma_suites" | sed "s/^hostile\$/$hostile/; s/^features\$/$features/; /^interop\$/d")
wire_suite=
[ -z "$long$wanted" ] || wire_suite=$(wanted_of wire)
# Two lanes need the examples, which are built in the product's folder, with the options of its configuration.
configuring=
if [ -z "$variant" ] && { wants lint || wants dist || wants containers; }; then
    vc_configured "$build" --enable-werror --disable-tests &
    configuring=$!
fi
built=1
if [ -z "$variant" ] && [ -n "$rdma_suites$wire_suite" ]; then
    build_for_device tests || built=
fi
[ -z "$configuring" ] || wait "$configuring" || die 'FAILED: it cannot be configured'
[ -n "$built" ] || die 'FAILED: it does not build'

# The output of the lanes beside this one is shown when all have ended. A signal that stops this script stops them, too; a program
# that they run then ends by itself.
lane_here >"$build/here.log" 2>&1 &
native_lane=$!
lane_product >"$build/product.log" 2>&1 &
product_lane=$!
trap 'kill "$native_lane" "$product_lane" 2>/dev/null; exit 1' INT TERM HUP
lane_rdma || failed=1
wait "$native_lane" || failed=1
wait "$product_lane" || failed=1
cat "$build/here.log" "$build/product.log"
# Not beside a guest, whose processors go first.
each_timed run_timed
# Alone, as it measures times.
[ -z "$long$wanted" ] || check_status figures sh bench/check.sh
# Repeats the failures at the end of the output.
cat "$totals.failed" "$totals.rdma.failed" 2>/dev/null

echo "All of it took $(($(date +%s) - begin)) s."
cat "$totals" "$totals.rdma" | awk '
    { p += $1; f += $2; s += $3; r += $4 }
    END {
        if (r > 0) printf "Repeated, as the machine stalled: %d\n", r
        printf "%d passed, %d failed, %d skipped\n", p, f, s
    }'
exit $failed
