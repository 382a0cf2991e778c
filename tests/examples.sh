#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# README's first command as a test, in TAP: it succeeds, twice, and says what was compared.
set -u

cd -- "$(dirname -- "$0")/.." || exit 1
echo 1..2
for n in 1 2; do
    if out=$(sh examples/run.sh 2>&1) && echo "$out" | grep -q 'mismatches *0$'; then
        echo "ok $n - examples_run_and_nothing_is_mismatched ($n)"
    else
        echo "not ok $n - examples_run_and_nothing_is_mismatched ($n)"
        echo "$out" | sed 's/^/# /'
    fi
done
