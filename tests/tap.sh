#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/tap.sh NAME TOTALS COMMAND...: runs a test program that prints TAP, prints a line with how many of its tests passed,
# failed and were skipped, and shows failures. Exit status 0 when no test failed. A program that crashes, hangs (900 s;
# $VC_TEST_TIMEOUT) or stops before its plan is complete has failed, whatever it printed. The plan "1..0 # SKIP why" is one
# skipped test.
#
# To the end of the file TOTALS goes a line of four numbers, passed, failed, skipped and repeated (see tests/one.sh); to that of
# TOTALS.failed the failures shown.
set -u

name=$1
totals=$2
shift 2
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# STATUS: prints how many tests passed, failed, were skipped and repeated.
count()
{
    awk -v status="$1" '
        /^1\.\.0 # SKIP/ { planned++; skipped++; next }
        /^1\.\.[0-9]+/ { split($1, plan, "\\.\\."); planned += plan[2]; next }
        /^(not )?ok / && / # SKIP/ { skipped++; next }
        /^ok /     { passed++; next }
        /^not ok / { failed++ }
        /^# repeated: / { repeated++ }
        END {
            if (planned > passed + failed + skipped) failed += planned - passed - failed - skipped
            if ((status != 0 || planned == 0) && failed == 0) failed = 1
            print passed + 0, failed + 0, skipped + 0, repeated + 0
        }' "$log"
}

read -r begin _ </proc/uptime
"${0%/*}/one.sh" "$@" >"$log"
numbers=$(count $?)
echo "$numbers" >>"$totals"
read -r end _ </proc/uptime
# shellcheck disable=SC2086 # numbers
set -- $numbers $((${end%.*} - ${begin%.*}))
again=
[ "$4" -eq 0 ] || again=", $4 repeated"
echo "$name: $1 passed, $2 failed, $3 skipped$again ($5 s)"
[ "$2" -eq 0 ] && exit 0

{
    echo "--- $name, in $PWD, failed; its last words:"
    grep -A 8 '^not ok' "$log" | head -n 60
    echo '...'
    tail -n 60 "$log"
    echo '---'
} | tee -a "$totals.failed"
exit 1
