#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What a choice among servers costs a call, in instructions; see usage() below.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

most=60         # instructions that a choice may take
most_outlier=70 # the same, where each call is counted for its server, too

usage()
{
    cat <<END
usage: sh bench/balance.sh
Makes blocking calls of 64 bytes over inproc, both ends on one thread, under callgrind: to one server, and
through channels that choose. Builds Verbcall and installs what is missing.
Prints lines of name and value, instructions per call:
  one                    a channel to one server
  KIND_POLICY_over_one   what a call takes more where the channel has 100 servers by a list: target (list),
                         by one with outlier detection (outlier), by a resolver of the program (app), or
                         one server by such a resolver (single)
It may run beside other programs. Exit status: 0 when none of these is more than $most, nor of outlier more
than $most_outlier, otherwise 1.
END
}

short=1000 long=11000 # calls in the two runs under callgrind

# count KIND POLICY CALLS: instructions of a whole run
count()
{
    LD_LIBRARY_PATH="$build/.libs" timeout 600 valgrind -q --tool=callgrind --callgrind-out-file=bench/balance.out \
        bench/.libs/balance "$1" "$2" "$3" >/dev/null || die "balance $* failed"
    sed -n 's/^totals: //p' bench/balance.out
}

# per_call KIND POLICY
per_call()
{
    few=$(count "$1" "$2" "$short") && many=$(count "$1" "$2" "$long") || exit 1
    echo "$many $few" | awk -v calls=$((long - short)) '{ printf "%.0f\n", ($1 - $2) / calls }'
}

bench_rounds 1 "$@"
bench_prepare 'build callgrind'
vc_build "$build" && vc_make "$build" bench/balance || die 'it does not build'
cd "$build" || exit 1

result=0
one=$(per_call one round_robin) || exit 1
echo "one $one"
for which in list_round_robin list_weighted_round_robin list_pick_first app_round_robin app_weighted_round_robin app_pick_first \
    single_round_robin outlier_round_robin; do
    this=$(per_call "${which%%_*}" "${which#*_}") || exit 1
    over=$((this - one))
    echo "${which}_over_one $over"
    limit=$most
    [ "${which%%_*}" != outlier ] || limit=$most_outlier
    if [ "$over" -gt "$limit" ]; then
        echo "bench: $which: a choice may take $limit instructions" >&2
        result=1
    fi
done
exit "$result"
