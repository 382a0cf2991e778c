#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/inside.sh BUILD TOTALS SUITE...: runs suites of a build folder one after the other; exit status 0 when nothing
# failed. Suites over RDMA want to be run by tests/rdma; without a device they are skipped.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$1
totals=$2
shift 2
cd -- "$build" || exit 1

# A leak, a bad access or undefined behaviour ends a program built with sanitizers; TSan knows what it must not judge.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=1:abort_on_error=0:exitcode=99"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:suppressions='$here/tsan.supp':exitcode=99:history_size=4"

failed=0
tap()
{
    "$here/tap.sh" "$1" "$totals" "$2" || failed=1
}

for suite; do
    case $suite in
    unit)
        for program in tests/unit/test_*; do
            [ -f "$program" ] && [ -x "$program" ] && tap "unit ${program##*/test_}" "./$program"
        done ;;
    idl)
        VC_PLUGIN=$PWD/protoc-gen-verbcall VC_ROUNDTRIP=$PWD/tests/sim/roundtrip VC_INCLUDE=$here/../include srcdir=$here/.. \
            tap idl "$here/idl/test_idl.sh" ;;
    fake)
        for program in tests/fake/test_* tests/fake/suite_*; do
            [ -f "$program" ] && [ -x "$program" ] &&
                VC_TEST_CALLS=${VC_TEST_CALLS_FAKE:-1000} VC_TEST_TIMES=${VC_TEST_TIMES_FAKE:-20} \
                    tap "fake ${program##*/}" "./$program"
        done ;;
    sim)
        for program in tests/sim/test_*; do
            [ -f "$program" ] && [ -x "$program" ] && tap "sim ${program##*/test_}" "./$program"
        done ;;
    faithful) tap faithful "$here/fake/faithful.sh" ;;
    *)
        for program in "tests/suite/test_$suite" "tests/suite/test_${suite}"_*; do
            [ -x "$program" ] && tap "${program##*/test_}" "./$program"
        done ;;
    esac
done
exit $failed
