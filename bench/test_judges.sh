#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# test_judges.sh: tests that ratio.awk and check.awk evaluate correctly. With made-up times, in TAP.
set -u
bench=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
n=0

# is NAME EXPECTED GOT
is()
{
    n=$((n + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "# expected: $2, got: $3"
    fi
}

# blocks N RATIO NOISE: prints blocks of a tree whose times are RATIO times those of the commit. Each process has NOISE, and so
# has each turn; one turn in ten is disturbed.
blocks()
{
    awk -v n="$1" -v ratio="$2" -v noise="$3" '
        function draw() {
            state = (state * 16807) % 2147483647
            return state / 2147483647
        }
        function noisy(us) { return us * exp(noise * (draw() + draw() + draw() + draw() - 2)) }
        function turn(us) { return noisy(us) * (draw() < 0.1 ? 1 + 10 * draw() : 1) }
        BEGIN {
            state = 20261122
            for (i = 0; i < n; i++) {
                commit = noisy(40)
                tree = noisy(40 * ratio)
                for (j = 0; j < 10; j++)
                    print i, turn(commit), turn(tree)
            }
        }'
}

# word FINAL BLOCKS...
word()
{
    final=$1
    shift
    blocks "$@" | awk -v final="$final" -f "$bench/ratio.awk" | sed -n 's/^word //p'
}

is equal_programs_are_same same "$(word 0 200 1 0.03)"
is a_program_of_1_03_is_slower slower "$(word 0 200 1.03 0.03)"
is a_program_of_0_97_is_faster faster "$(word 0 200 0.97 0.03)"
is a_program_of_1_03_is_not_same_after_few_blocks undecided "$(word 0 16 1.03 0.1)"
is a_program_of_1_015_is_slower slower "$(word 0 200 1.015 0.03)"
is a_program_of_1_005_is_same same "$(word 0 200 1.005 0.03)"
is before_the_end_one_percent_is_too_wide undecided "$(word 0 40 1.03 0.04)"
is at_the_end_one_percent_is_enough slower "$(word 1 40 1.03 0.04)"
is too_few_blocks_decide_nothing undecided "$(word 1 11 1.5 0.01)"
is much_noise_decides_nothing undecided "$(word 1 40 1.03 0.2)"
is much_slower_is_seen_in_much_noise slower "$(word 1 40 1.5 0.2)"

# check RELATION VALUE ROUND...: prints check.awk's result for these measured rounds.
check()
{
    scratch=$(mktemp) || exit 1
    echo "figure $1 $2" >"$scratch"
    shift 2
    for value; do
        printf 'round\nfigure %s\n' "$value"
    done | awk -f "$bench/engine_ratios.awk" -f "$bench/check.awk" "$scratch" - | sed 's/^figure promised [^ ]* //'
    rm "$scratch"
}

is what_is_within_its_promise_holds 'measured 1.1 noise 0.05 holds' "$(check at_most 1.2 1.05 1.1 1.15)"
is what_misses_by_less_than_the_noise_holds 'measured 1.25 noise 0.1 holds' "$(check at_most 1.2 1.2 1.25 1.4)"
is what_misses_by_more_than_the_noise_falls_short 'measured 1.35 noise 0.1 falls short' "$(check at_most 1.2 1.2 1.35 1.4)"
is a_lower_limit_is_one 'measured 20 noise 1 falls short' "$(check at_least 30 19 20 21)"
is a_count_must_keep_each_round 'measured 9 noise 0 falls short' "$(check never_above 8 8 8 9)"
is what_was_not_measured_falls_short 'falls short: it was not measured' "$(check at_most 1)"
echo "1..$n"
