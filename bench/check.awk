# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f engine_ratios.awk -f check.awk PROMISED ROUNDS: holds what check_inside.sh printed against the promises. Prints for each "NAME promised
# VALUE measured VALUE noise VALUE holds|falls short"; exit status 1 if one falls short, or was not measured.
#
# A figure is measured once in each round. The measured value is the median of the rounds, the noise half the distance
# between the lowest and the highest: by less than that the same program differs from itself on this machine at this hour.
# A figure falls short when it misses its promise by more than the noise; one that is never_above or never_below, a count,
# when a single round misses it.

FNR == NR {
    if ($0 !~ /^#/) {
        promises[++n_promises] = $1
        relation[$1] = $2
        promised[$1] = $3
    }
    next
}
$1 == "round" { end_round(); next }
$1 == "send_lat" || $1 == "call" { now[$1 "_" $2] = $3; next }
NF == 2 { now[$1] = $2 }

END {
    end_round()
    for (p = 1; p <= n_promises; p++)
        failed += !judge(promises[p])
    exit failed > 0
}

# What is made of several figures of a round; then each figure's value joins those of other rounds.
function end_round(    name) {
    derive("call_64_over_2x_send_lat", "call_64", "send_lat_64")
    derive("call_4096_over_2x_send_lat", "call_4096", "send_lat_4096")
    if ("call_alone_max_us" in now && "call_beside_sleeper_max_us" in now)
        now["sleeper_delays_us"] = now["call_beside_sleeper_max_us"] - now["call_alone_max_us"]
    engine_ratios()
    for (name in now)
        insert(name, now[name] + 0)
    split("", now)
}

function add(name, value) {
    now[name] = value
}

function derive(name, call, send_lat) {
    if (call in now && send_lat in now && now[send_lat] > 0)
        now[name] = now[call] / (2 * now[send_lat])
}

# Keeps a figure's values sorted.
function insert(name, value,    i) {
    for (i = n[name]++; i > 0 && values[name, i - 1] > value; i--)
        values[name, i] = values[name, i - 1]
    values[name, i] = value
}

function median(name,    m) {
    m = int(n[name] / 2)
    return n[name] % 2 ? values[name, m] : (values[name, m - 1] + values[name, m]) / 2
}

# True when it holds.
function judge(name,    low, high, measured, noise, short) {
    if (!n[name]) {
        print name, "promised", promised[name], "falls short: it was not measured"
        return 0
    }
    low = values[name, 0]
    high = values[name, n[name] - 1]
    measured = median(name)
    noise = (high - low) / 2
    if (relation[name] ~ /^never/) {
        measured = relation[name] == "never_above" ? high : low
        noise = 0
    }
    short = relation[name] ~ /most|above/ ? measured - promised[name] : promised[name] - measured
    printf "%s promised %s measured %.4g noise %.2g %s\n", name, promised[name], measured, noise,
        (short > noise ? "falls short" : "holds")
    return short <= noise
}
