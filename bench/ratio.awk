# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -v final=0|1 -f ratio.awk TURNS: the ratio of two programs' times, its 95 % interval, and a word. Each line of TURNS is
# BLOCK COMMIT TREE: the times of a turn of each, which followed each other. Prints lines of name and value:
#   ratio, ratio_low, ratio_high   the tree's time over the commit's, and its interval
#   blocks                         how many there were
#   word                           same, slower, faster, or undecided
#
# Why so: a host with other work makes a turn some percent slower for seconds, and now and then one turn many times slower; and
# a process is some percent faster or slower than another of the same program.
# - A turn takes some ten milliseconds, and the two programs take turns in the order ABBA, so that what drifts slowly slows
#   both alike. A block gives one number, the median of its turns' logarithms of TREE over COMMIT; blocks are independent of
#   each other, as each has new processes.
# - Of these the mean without the highest and lowest fifth is taken, which outliers cannot move. Its interval is Student's t
#   with the winsorized deviation (Tukey and McLaughlin).
# - Before the final look (final=0) the measurement goes on until the interval reaches at most 0.8 % to each side. Only its
#   width says when to end, or chance would decide: of many looks one finds the ratio off. Of 600 simulated measurements of
#   two equal programs (README.md) 13 found them more than 1 % apart.
# - At the final look, when the time is over, 1 % to each side is enough; a wider interval is, if all of it is beyond 1 % of 1.
#   What remains is `undecided`.

NF == 3 && $2 > 0 && $3 > 0 {
    if ($1 != block)
        end_block()
    block = $1
    turns[n_turns++] = log($3 / $2)
}

END {
    end_block()
    if (n < enough) {
        print "blocks", n + 0
        print "word", "undecided"
        exit
    }
    estimate()
    printf "ratio %.4f\nratio_low %.4f\nratio_high %.4f\n", exp(middle), exp(middle - half), exp(middle + half)
    print "blocks", n
    print "word", word()
}

BEGIN {
    enough = 12 # blocks, before anything is said
    border = log(1.01)
    narrow = log(1.008)
}

# The median of a block's turns is its value.
function end_block(    sorted, i, j) {
    if (n_turns == 0)
        return
    for (i = 0; i < n_turns; i++) {
        for (j = i; j > 0 && sorted[j - 1] > turns[i]; j--)
            sorted[j] = sorted[j - 1]
        sorted[j] = turns[i]
    }
    insert((sorted[int((n_turns - 1) / 2)] + sorted[int(n_turns / 2)]) / 2)
    n_turns = 0
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

function word() {
    if (half <= (final ? border : narrow))
        return middle > border ? "slower" : middle < -border ? "faster" : "same"
    if (final && middle - half > border)
        return "slower"
    return final && middle + half < -border ? "faster" : "undecided"
}
