#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# check_inside.sh ROUNDS: the part of check.sh that runs where the RDMA device is, in the build folder. After a line "round N"
# it prints the lines of each benchmark, in its short form.
set -u
bench=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1

round=0
while [ $((round += 1)) -le "$1" ]; do
    echo "bench: checking, round $round of $1" >&2
    echo "round $round"
    sh "$bench/inside.sh" 1 1000 || echo 'bench: inside.sh failed' >&2
    sh "$bench/pool_inside.sh" 1 short || echo 'bench: pool_inside.sh failed' >&2
    sh "$bench/engine_inside.sh" 1 short || echo 'bench: engine_inside.sh failed' >&2
    sh "$bench/overload_inside.sh" 1 short || echo 'bench: overload_inside.sh failed' >&2
    sh "$bench/prompt_inside.sh" 1 short || echo 'bench: prompt_inside.sh failed' >&2
done
