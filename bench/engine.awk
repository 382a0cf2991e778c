# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Run after add() and median() of common.sh, with engine_ratios.awk: prints the medians of what engine_inside.sh measured, and of the ratios of each
# round.

$1 == "round" { end_round(); next }
NF == 2 { now[$1] = $2; add($1, $2 + 0) }

END {
    end_round()
    for (k = 1; k <= n_names; k++)
        print names[k], median(names[k])
    print "rounds", rounds
}

function end_round() {
    rounds += "threads_1_calls_per_second" in now
    engine_ratios()
    split("", now)
}
