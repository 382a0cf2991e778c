#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/one.sh COMMAND...: runs one test program in the build folder, with the environment of test programs, and prints its TAP
# as automake's driver reads it. A program that has not ended after 900 s ($VC_TEST_TIMEOUT), or an hour when $VC_TEST_LONG has it
# go through 20 times as much, is taken to hang and killed. Exit status: that of the command.
#
# A test that failed while the machine was stalled is repeated once, alone. The program must report the stall: it prints
# "# stalled N ms" before the line of that test (tests/suite/pace.h). Later failures of the same process are repeated, too, as
# those tests ran beside what the stalled test left open. If a test then passes, its line says so, after a line
# "# repeated: NAME ...". No other test is repeated.
#
# cmocka 1.1.5 marks a skipped test as "not ok N # SKIP", which is "ok N # SKIP" in TAP.
set -u

# Processes are counted here: in an emulated guest, where each program of the suites is run by this, one takes 30 ms.
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
here=$(CDPATH='' cd -- "$here" && pwd)

# A leak, a bad access or undefined behaviour ends a program built with sanitizers; TSan has a list of false positives.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=1:abort_on_error=0:exitcode=99"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:suppressions='$here/tsan.supp':exitcode=99:history_size=4"
export CMOCKA_MESSAGE_OUTPUT=TAP
# Tests break links on purpose: warnings would disturb TAP.
export VERBCALL_LOG="${VERBCALL_LOG-error}"

# A simulated world makes and ends its threads and memory at once, thousands of times: stacks of a size that glibc keeps for the
# next one, and a short quarantine of freed memory, which has to be new pages from the kernel otherwise.
case $* in
*/sim/* | */fake/*)
    ulimit -S -s 1024
    export ASAN_OPTIONS="$ASAN_OPTIONS:quarantine_size_mb=8"
    ;;
esac
# Fewer calls in the simulated world, as each of its steps costs bookkeeping.
case $* in
*/tests/suite/* | tests/suite/*) export VC_TEST_PACE=1 ;;
esac
# An address of 127.0.0.0/8 that no program beside this one has: the port of a server that was killed may be another program's
# server at once, and would answer at the same address.
own=127.$(($$ / 65536 + 1)).$(($$ / 256 % 256)).$(($$ % 256))
case $* in
*/fake/*) export VC_TEST_CALLS="${VC_TEST_CALLS_FAKE:-1000}" VC_TEST_TIMES="${VC_TEST_TIMES_FAKE:-20}" ;;
*/inproc_*) export VC_TEST_ADDR=inproc VC_TEST_CALLS="${VC_TEST_CALLS_INPROC:-20000}" ;;
*/tcp_*) export VC_TEST_ADDR=$own VC_TEST_SCHEME=tcp VC_TEST_CALLS="${VC_TEST_CALLS_TCP:-5000}" ;;
*/vc_*) export VC_TEST_ADDR=$own VC_TEST_SCHEME=vc VC_TEST_CALLS="${VC_TEST_CALLS_VC:-5000}" ;;
*/test_tcp) export VC_TEST_ADDR=127.0.0.1 VC_TEST_SCHEME=tcp VC_TEST_CALLS="${VC_TEST_CALLS_TCP:-5000}" ;;
*/test_best | */test_refused) export VC_TEST_ADDR=127.0.0.1 VC_TEST_SCHEME=vc VC_TEST_CALLS="${VC_TEST_CALLS_VC:-5000}" ;;
*/ud_* | */test_datagrams* | */test_crowd) export VC_TEST_SCHEME=rdma+ud VC_TEST_CALLS="${VC_TEST_CALLS_UD:-2000}" ;;
*/shm_* | */test_shm | */test_shm_peers) export VC_TEST_ADDR=shm VC_TEST_SCHEME=shm VC_TEST_CALLS="${VC_TEST_CALLS_SHM:-20000}" ;;
*/test_idl.sh)
    export VC_PLUGIN="${VC_PLUGIN:-$PWD/protoc-gen-verbcall}" VC_ROUNDTRIP="$PWD/tests/sim/roundtrip"
    export VC_INCLUDE="$here/../include" srcdir="$here/.." ;;
esac

log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.again"' EXIT

limit=900
[ "${VC_TEST_LONG-}" != 1 ] || limit=3600

# LOG COMMAND...: exit status of the command.
run()
{
    file=$1
    shift
    timeout -k 10 "${VC_TEST_TIMEOUT:-$limit}" "$@" >"$file" 2>&1 </dev/null
}

# LOG: prints it, with skipped tests as TAP has them.
shown()
{
    sed 's/^not \(ok .* # SKIP\)/\1/' "$1"
}

# Sets $now to the seconds since the machine started.
clock()
{
    read -r now _ </proc/uptime
    now=${now%.*}
}

# Prints the names of the tests that failed in a stall, or after such a test.
stalled()
{
    awk '
        /# stalled [0-9]+ ms$/ { stalled = 1; next }
        /^not ok [0-9]+ - / && (stalled || left) && !/ # SKIP/ { print $5; left = 1 }
        /^(not )?ok / { stalled = 0 }' "$log"
}

clock
begin=$now
run "$log" "$@"
status=$?
if [ "$status" -ne 0 ]; then
    for test in $(stalled); do
        if VC_TEST_ONLY=$test run "$log.again" "$@"; then
            sed -i "s/^not \(ok [0-9]* - $test\)\$/# repeated: $test failed in a stall of the machine or behind one, and passed alone\n\1/" "$log"
            [ "$status" -ge 124 ] || status=$(shown "$log" | grep -c '^not ok')
        else
            shown "$log.again" | sed 's/^\(not \)\{0,1\}ok /# &/; s/^1\.\./# &/' >>"$log"
        fi
    done
fi
shown "$log"
clock
echo "# $((now - begin)) s, exit status $status"
exit "$status"
