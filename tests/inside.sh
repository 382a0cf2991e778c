#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/inside.sh BUILD TOTALS SUITE...: runs suites over RDMA of a build folder, one program after the other; exit status 0
# when no test failed. A suite is all programs test_SUITE and test_SUITE_* (datagrams: and test_crowd, ud_*); with "=" before it, only the first. tests/rdma
# runs it; without a device the suites are skipped.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$1
totals=$2
shift 2
cd -- "$build" || exit 1
export VC_TEST_PACE=1

failed=0
for suite; do
    if [ "$suite" = faithful ]; then
        "$here/tap.sh" faithful "$totals" "$here/fake/faithful.sh" || failed=1
        continue
    fi
    case $suite in
    datagrams) programs=$(echo tests/suite/test_datagrams* tests/suite/test_crowd tests/suite/ud_*) ;;
    =*) programs="tests/suite/test_${suite#=}" ;;
    *) programs=$(echo "tests/suite/test_$suite" "tests/suite/test_${suite}"_*) ;;
    esac
    for program in $programs; do
        case $program in
        *.*) continue ;;
        esac
        name=${program##*/}
        [ ! -x "$program" ] || "$here/tap.sh" "${name#test_}" "$totals" "$program" || failed=1
    done
done
exit $failed
