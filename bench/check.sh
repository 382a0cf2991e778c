#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Checks that the figures of README still hold; see usage() below. check_inside.sh is the part that runs where the RDMA device
# is, the promises are in `promised`, and check.awk compares.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/check.sh [ROUNDS]
Measures the figures that README promises, in a short form of bench/latency.sh, pool.sh, engine.sh,
overload.sh and prompt.sh, each of them once in each round (default 5), on this machine if it has an RDMA device,
otherwise in a virtual machine with Soft-RoCE. Builds Verbcall and installs what is missing for that.
Prints a line for each figure:
  NAME promised VALUE measured VALUE noise VALUE holds|falls short
Measured is the median of the rounds; noise is half the distance between the lowest and the highest.
A figure falls short when it misses its promise by more than that.
Exit status: 0 when all hold, otherwise 1.
END
}

bench_rounds 5 "$@"
bench_run check 'build bench' check_inside.sh "$rounds"
awk -f "$top/bench/engine_ratios.awk" -f "$top/bench/check.awk" "$top/bench/promised" bench/check.out
