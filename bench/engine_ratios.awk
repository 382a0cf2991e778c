# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# engine_ratios(): from what engine_inside.sh measured in a round, in now[], the ratios that count; each to add(NAME, VALUE).

function engine_ratios() {
    ratio("threads_2_over_1", "threads_2_calls_per_second", "threads_1_calls_per_second")
    ratio("threads_4_over_1", "threads_4_calls_per_second", "threads_1_calls_per_second")
    ratio("threads_16_over_1", "threads_16_calls_per_second", "threads_1_calls_per_second")
    ratio("processes_2_over_1", "processes_2_calls_per_second", "processes_1_calls_per_second")
    ratio("processes_8_over_never", "processes_8_calls_per_second", "processes_8_never_calls_per_second")
    ratio("processes_8_p99_over_never", "processes_8_p99_us", "processes_8_never_p99_us")
    ratio("engines_2_over_1_at_2_processes", "engines_2_processes_2_calls_per_second", "processes_2_calls_per_second")
    ratio("engines_2_over_1_at_4_processes", "engines_2_processes_4_calls_per_second", "processes_4_calls_per_second")
    over_never(100)
    over_never(300)
    over_never(1000)
    ratio("median_at_1000_calls_over_never", "at_1000_median_us", "at_1000_never_median_us")
    ratio("blocking_64_quick_beside_over_alone", "blocking_64_quick_beside_p99_us", "blocking_64_quick_alone_p99_us")
}

# The processor time of each end.
function over_never(rate,    ends, i) {
    split("client server", ends, " ")
    for (i = 1; i <= 2; i++)
        ratio("cpu_at_" rate "_calls_over_never_" ends[i], "at_" rate "_cpu_percent_" ends[i],
            "at_" rate "_never_cpu_percent_" ends[i])
}

function ratio(name, above, below) {
    if (above in now && below in now && now[below] > 0)
        add(name, now[above] / now[below])
}
