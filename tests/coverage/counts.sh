#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/coverage/counts.sh TOP RUN OUT: writes OUT.counts, the coverage of the product's code after the run whose
# counters (*.gcda) are in the folder RUN. If RUN is ".", it lists all code that was built, as not run. Call it in the
# build folder, which has the compiler's notes (*.gcno). A line of OUT.counts is
#   l FILE LINE RAN            a line that has code; RAN is 0 or 1
#   b FILE LINE BRANCH TAKEN   branch number BRANCH of this line; TAKEN is 0 or 1
set -u

top=$1
run=$2
out=$3

if [ "$run" = . ]; then
    find . -name '*.gcno' ! -path './coverage/*'
else
    # gcov expects the notes beside the counters.
    (cd "$run" && find . -name '*.gcda') | sed 's/^\.\///; s/\.gcda$//' |
        while read -r object; do
            ln -s "$PWD/$object.gcno" "$run/$object.gcno" && echo "$run/$object.gcda"
        done
fi >"$out.objects" || exit 1

# A run without counters ran no code of the product.
[ -s "$out.objects" ] || { rm -f "$out.objects"; : >"$out.counts"; exit 0; }
xargs gcov -t -b -c <"$out.objects" 2>/dev/null | awk -v top="$top/" -f "$top/tests/coverage/counts.awk" |
    sort -u >"$out.counts" && rm -f "$out.objects"
