#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What a choice among servers costs a call, in instructions; see usage() below.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/balance.sh
Makes blocking calls of 64 bytes over inproc, both ends on one thread, under callgrind: to one server, and
to 100 by a list: target and by a resolver of the program. Builds Verbcall and installs what is missing.
Prints lines of name and value, instructions per call:
  one                        a channel to one server
  list_POLICY, app_POLICY    to 100, by a list, and by a resolver
  ..._over_one               what it takes more
What polls is left out (the engine, its queues and its clock, and inproc's poll()), as the number of its
turns depends on the host. It may run beside other programs.
END
}

short=1000 long=6000 # calls in the two runs under callgrind

# count KIND POLICY CALLS: instructions of a whole run, but for what polls. callgrind writes a name once, with a number.
count()
{
    LD_LIBRARY_PATH="$build/.libs" timeout 600 valgrind -q --tool=callgrind --callgrind-out-file=bench/balance.out \
        bench/.libs/balance "$1" "$2" "$3" >/dev/null || die "balance $* failed"
    awk '/^c?fn=/ {
            split($1, part, /[()]/)
            if (NF > 1) name[part[2]] = $2
            if (/^fn=/) fn = name[part[2]]
            next
        }
        /^calls=/ { getline; next } # of the called function
        /^[-+*0-9]/ && fn !~ /^(engine_|inproc_on_poll|_*cds_|epoll_wait|read$|write$|clock_gettime)/ { sum += $2 }
        END { printf "%d\n", sum }' bench/balance.out
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

one=$(per_call one round_robin) || exit 1
echo "one $one"
for policy in round_robin weighted_round_robin pick_first; do
    for kind in list app; do
        this=$(per_call "$kind" "$policy") || exit 1
        echo "${kind}_$policy $this"
        echo "${kind}_${policy}_over_one $((this - one))"
    done
done
