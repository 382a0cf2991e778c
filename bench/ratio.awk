# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v final=0|1 -f ratio.awk SAMPLES: the ratio of two programs' times, its 95 % interval, and a word. Each line of
# SAMPLES is a block: COMMIT COMMIT TREE TREE, the times of two runs of each. Prints lines of name and value:
#   ratio, ratio_low, ratio_high   the tree's time over the commit's, and its interval
#   blocks                         how many there were
#   word                           same, slower, faster, or undecided
#
# Why so: a host with other work makes a run some percent slower for seconds, and now and then one run many times slower.
# - In a block the runs follow each other in the order ABBA, in the next one BAAB, so that what drifts slowly slows both
#   alike. Of each program's two runs the faster one counts, as nothing makes a run too fast. A block gives one number, the
#   logarithm of TREE over COMMIT; blocks are independent of each other, as each has new processes.
# - Of these the mean without the highest and lowest fifth is taken, which outliers cannot move. Its interval is Student's t
#   with the winsorized deviation (Tukey and McLaughlin).
# - The interval is looked at again and again, and an early end would make chance decide. So before the final look (final=0)
#   a word is said only when the whole interval is on one side of a border: within 1 % of 1 it is `same`; above 1.01, and
#   itself within 1 % of the ratio, `slower`; below 1/1.01 `faster`. Otherwise the measurement goes on.
# - At the final look an interval within 1 % of the ratio is enough: then a ratio beyond 1 % of 1 decides, if 1 is outside of
#   the interval. A wider one is enough if all of it is beyond 1 % of 1. What remains is `undecided`.

NF == 4 && $1 > 0 && $2 > 0 && $3 > 0 && $4 > 0 { insert(log(least_of($3, $4) / least_of($1, $2))) }

END {
    if (n < enough) {
        print "blocks", n + 0
        print "word", "undecided"
        exit
    }
    estimate()
    printf "ratio %.4f\nratio_low %.4f\nratio_high %.4f\n", exp(middle), exp(middle - half), exp(middle + half)
    print "blocks", n
    print "word", final ? final_word() : early_word()
}

BEGIN {
    enough = 12 # blocks, before anything is said
    border = log(1.01)
}

function least_of(a, b) {
    return a + 0 < b + 0 ? a : b
}

# Keeps the values sorted.
function insert(value,    i) {
    for (i = n++; i > 0 && values[i - 1] > value; i--)
        values[i] = values[i - 1]
    values[i] = value
}

# Sets middle, the trimmed mean, and half, half of its interval's width.
function estimate(    cut, kept, i, sum, mean, squares, v) {
    cut = int(n / 5)
    kept = n - 2 * cut
    for (i = cut; i < n - cut; i++)
        sum += values[i]
    middle = sum / kept
    for (i = 0; i < n; i++)
        mean += winsorized(i, cut) / n
    for (i = 0; i < n; i++) {
        v = winsorized(i, cut) - mean
        squares += v * v
    }
    half = student(kept - 1) * sqrt(squares / (n - 1)) / (kept / n * sqrt(n))
}

function winsorized(i, cut) {
    return values[i < cut ? cut : i >= n - cut ? n - cut - 1 : i]
}

# The 97.5 % quantile of Student's t, by its expansion at the normal one.
function student(freedom,    z) {
    z = 1.959964
    return z + (z ^ 3 + z) / (4 * freedom) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * freedom ^ 2)
}

function early_word() {
    if (middle - half > -border && middle + half < border)
        return "same"
    if (half <= border && middle - half > border)
        return "slower"
    if (half <= border && middle + half < -border)
        return "faster"
    return "undecided"
}

function final_word() {
    if (half > border)
        return middle - half > border ? "slower" : middle + half < -border ? "faster" : "undecided"
    if (middle > border && middle > half)
        return "slower"
    return middle < -border && -middle > half ? "faster" : "same"
}
