#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/native.sh BUILD - SUITE...: only builds what the line below would run.
# tests/native.sh BUILD TOTALS SUITE...: builds the programs of the named suites, of unit, threads, idl, fake, sim, inproc, tcp,
# shm, best and local, in a configured build folder, and runs them by `make check`. It runs one program more at a time than
# there are processors, as some wait; $VC_TEST_JOBS programs, if given. Those that take longest begin first. Prints a line for each suite, with the total seconds of its programs, and shows failures.
# Numbers and failures go to the end of the files TOTALS and TOTALS.failed, as those of tests/tap.sh do. Exit status 0 when no
# test failed.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
. tests/build.sh
build=$(vc_plain_path "$1") || exit 1
totals=$2
shift 2
failed=0

# Prints the programs of a suite, as targets of make.
programs_of()
{
    case $1 in
    unit) echo '$(unit_tests) $(dns_tests) $(config_tests)' ;;
    threads) echo '$(unit_threads)' ;;
    idl) echo tests/idl/test_idl.sh ;;
    fake) echo '$(fake_tests) $(fake_suites)' ;;
    sim) echo '$(sim_tests)' ;;
    inproc) echo '$(inproc_suites)' ;;
    tcp) echo '$(tcp_links)' ;;
    shm) echo '$(shm_links)' ;;
    shm_basic)
        for part in calls features_calls features_streams alive interop kill kill_clients kill_points hostile hostile_packets resume; do
            echo "tests/suite/shm_$part"
        done | xargs ;;
    best) echo '$(best_links)' ;;
    local) echo '$(local_suites) $(dns_suites)' ;;
    esac
}

# Prints what must be built for a suite, as targets of make.
parts_of()
{
    case $1 in
    idl) echo 'protoc-gen-verbcall tests/sim/roundtrip' ;;
    *) programs_of "$1" ;;
    esac
}

# Prints the logs of a suite, a line each.
logs_of()
{
    make -s --no-print-directory -C "$build" print-logs TESTS="$(programs_of "$1")" | xargs -n 1 | sed "s,^,$build/,"
}

# Prints how many tests of these logs passed, failed, were skipped and repeated, and the seconds they took.
count()
{
    sed 's/\.log$/.trs/' "$1" | xargs awk '
        FNR == 1 { failed_here = 0 }
        /^:test-result: PASS/ { passed++ }
        /^:test-result: SKIP/ { skipped++ }
        /^:test-result: (FAIL|XPASS)/ { failed++; failed_here = 1 }
        /^:test-result: ERROR/ && !failed_here { failed++; failed_here = 1 }
        END { printf "%d %d %d ", passed, failed, skipped }'
    xargs awk '/^# repeated: / { n++ } END { printf "%d ", n }' <"$1"
    xargs awk '/^# [0-9]+ s, exit status/ { s += $2 } END { print s + 0 }' <"$1"
}

# Shows the log of a program that failed.
show()
{
    echo "--- ${1#"$build"/}, in $build, failed; its last words:"
    grep -A 8 '^not ok' "$1" | head -n 60
    echo '...'
    tail -n 60 "$1"
    echo '---'
}

list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
for suite; do
    tests="${tests-} $(programs_of "$suite")"
    parts="${parts-} $(parts_of "$suite")"
done
vc_make "$build" native-programs native_programs="$parts" || exit 1
[ "$totals" != - ] || exit 0
# Programs that take 9 s or more: one that began last would end alone.
slow='%_kill %_hostile_server %_resolver_changes %_alive %_calls %_balance %_overload'
# shellcheck disable=SC2016 # make expands it
make -s -k -j "${VC_TEST_JOBS:-$(($(getconf _NPROCESSORS_ONLN) + 1))}" -C "$build" check-TESTS slow="$slow" tests="$tests" \
    TESTS='$(filter $(slow),$(tests)) $(filter-out $(slow),$(tests))' >"$build/native.log" 2>&1
for suite; do
    logs_of "$suite" >"$list"
    # shellcheck disable=SC2046 # numbers
    set -- $(count "$list")
    [ "$1" -gt 0 ] || set -- 0 $(($2 + 1)) 0 0 0
    echo "$1 $2 $3 $4" >>"$totals"
    again=
    [ "$4" -eq 0 ] || again=", $4 repeated"
    echo "$suite: $1 passed, $2 failed, $3 skipped$again ($5 s of its programs together)"
    [ "$2" -eq 0 ] && continue
    failed=1
    while read -r log; do
        ! grep -qE '^:global-test-result: (FAIL|ERROR)' "${log%.log}.trs" || show "$log"
    done <"$list" | tee -a "$totals.failed"
done
exit $failed
