#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/coverage/counts.sh TOP RUN OUT: writes OUT.counts, what gcov says of the product's code after the run whose
# counters (*.gcda) are in the folder RUN; if RUN is ".", of all the code that was built, none of it run. To be called in
# the build folder, which has the compiler's notes (*.gcno). A line of OUT.counts is
#   l FILE LINE RAN            a line that has code; RAN is 0 or 1
#   b FILE LINE BRANCH TAKEN   the BRANCHth way that the code of this line may go
set -u

top=$1
run=$2
out=$3

if [ "$run" = . ]; then
    find . -name '*.gcno' ! -path './coverage/*'
else
    # gcov looks for the notes beside the counters.
    (cd "$run" && find . -name '*.gcda') | sed 's/^\.\///; s/\.gcda$//' |
        while read -r object; do
            ln -s "$PWD/$object.gcno" "$run/$object.gcno" && echo "$run/$object.gcda"
        done
fi >"$out.objects" || exit 1

# A run without a counter ran none of it.
[ -s "$out.objects" ] || { rm -f "$out.objects"; : >"$out.counts"; exit 0; }
xargs gcov -t -b -c <"$out.objects" 2>/dev/null | awk -v top="$top/" -f "$top/tests/coverage/counts.awk" |
    sort -u >"$out.counts" && rm -f "$out.objects"
