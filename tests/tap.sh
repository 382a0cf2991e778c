#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/tap.sh NAME TOTALS COMMAND...: runs a test program that prints TAP, says in a line how many of its tests passed,
# failed and were skipped, and shows what failed. The three numbers go to the end of the file TOTALS, what was shown to
# that of TOTALS.failed. A program that crashes, hangs (900 s; $VC_TEST_TIMEOUT) or stops before its plan is over has
# failed, whatever it printed. Exit status 0 when nothing failed.
#
# cmocka 1.1.5 marks a skipped test as "not ok N # SKIP", so SKIP is looked for first.
set -u

name=$1
totals=$2
shift 2
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

begin=$(date +%s)
CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "${VC_TEST_TIMEOUT:-900}" "$@" >"$log" 2>&1 </dev/null
status=$?
seconds=$(($(date +%s) - begin))

counts=$(awk -v status=$status '
    /^1\.\.[0-9]+/ { split($1, plan, "\\.\\."); planned += plan[2]; next }
    /^(not )?ok / && / # SKIP/ { skipped++; next }
    /^ok /     { passed++; next }
    /^not ok / { failed++ }
    END {
        if (planned > passed + failed + skipped) failed += planned - passed - failed - skipped
        if ((status != 0 || planned == 0) && failed == 0) failed = 1
        print passed + 0, failed + 0, skipped + 0
    }' "$log")
echo "$counts" >>"$totals"
# shellcheck disable=SC2086 # three words
set -- $counts
echo "$name: $1 passed, $2 failed, $3 skipped ($seconds s)"
[ "$2" -eq 0 ] && exit 0

{
    echo "--- $name, in $PWD, ended with status $status; its last words:"
    grep -A 8 '^not ok' "$log" | grep -v ' # SKIP' | head -n 60
    echo '...'
    tail -n 60 "$log"
    echo '---'
} | tee -a "$totals.failed"
exit 1
