#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# README's first command as a test, in TAP: it succeeds, with VC_TEST_LONG=1 twice, prints what was compared, and leaves no
# example out, neither over TCP nor over RDMA. examples/inside.sh and examples/more.sh say what each of them must do.
set -u

cd -P -- "$(dirname -- "$0")/.." || exit 1
n=1
[ -z "${VC_TEST_LONG-}" ] || n=2
echo "1..$n"
for n in 1 ${VC_TEST_LONG:+2}; do
    if out=$(sh examples/run.sh 2>&1) && echo "$out" | grep -q 'mismatches *0$' &&
        [ "$(echo "$out" | grep -cE '^== (greeter|kv|pool|chat|file|fanout|fleet):')" -eq 16 ] &&
        ! echo "$out" | grep -q 'left out'; then
        echo "ok $n - examples_run_and_nothing_is_mismatched ($n)"
    else
        echo "not ok $n - examples_run_and_nothing_is_mismatched ($n)"
        echo "$out" | sed 's/^/# /'
    fi
done
