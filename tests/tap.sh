#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/tap.sh NAME TOTALS COMMAND...: runs a test program that prints TAP, says in a line how many of its tests passed,
# failed and were skipped, and shows what failed. Exit status 0 when nothing failed. A program that crashes, hangs (900 s;
# $VC_TEST_TIMEOUT) or stops before its plan is over has failed, whatever it printed. The plan "1..0 # SKIP why" is one skipped.
#
# A test over RDMA that failed while the machine stood still is repeated once, alone. It has to show that: the program
# prints "# stalled N ms" before the line of that test (tests/suite/pace.h). No other test is repeated.
#
# To the end of the file TOTALS goes a line of four numbers, passed, failed, skipped and repeated; to that of
# TOTALS.failed what was shown.
set -u

name=$1
totals=$2
shift 2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.again" "$log.numbers"' EXIT

# FILE STATUS: prints the numbers of what passed, failed and was skipped.
count()
{
    awk -v status="$2" '
        /^1\.\.0 # SKIP/ { planned++; skipped++; next }
        /^1\.\.[0-9]+/ { split($1, plan, "\\.\\."); planned += plan[2]; next }
        /^(not )?ok / && / # SKIP/ { skipped++; next }
        /^ok /     { passed++; next }
        /^not ok / { failed++ }
        END {
            if (planned > passed + failed + skipped) failed += planned - passed - failed - skipped
            if ((status != 0 || planned == 0) && failed == 0) failed = 1
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# Prints the names of the tests that failed in a stall.
stalled()
{
    awk '
        /^# stalled [0-9]+ ms/ { stalled = 1; next }
        /^not ok [0-9]+ - / && stalled && !/ # SKIP/ { print $5 }
        /^(not )?ok / { stalled = 0 }' "$log"
}

begin=$(date +%s)
"$here/one.sh" "$@" >"$log"
count "$log" $? >"$log.numbers"
read -r passed failed skipped <"$log.numbers"
repeated=0
for test in $(stalled); do
    repeated=$((repeated + 1))
    echo "--- $test failed in a stall of the machine; once more:" >>"$log"
    if VC_TEST_ONLY=$test "$here/one.sh" "$@" >"$log.again"; then
        passed=$((passed + 1)) failed=$((failed - 1))
    fi
    cat "$log.again" >>"$log"
done
echo "$passed $failed $skipped $repeated" >>"$totals"
again=
[ "$repeated" -eq 0 ] || again=", $repeated repeated"
echo "$name: $passed passed, $failed failed, $skipped skipped$again ($(($(date +%s) - begin)) s)"
[ "$failed" -eq 0 ] && exit 0

{
    echo "--- $name, in $PWD, failed; its last words:"
    grep -A 8 '^not ok' "$log" | head -n 60
    echo '...'
    tail -n 60 "$log"
    echo '---'
} | tee -a "$totals.failed"
exit 1
