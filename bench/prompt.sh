#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# How promptly calls end after a deadline or a cancel, and how a sleeping handler delays other calls; see usage() below.
# prompt_inside.sh is the part that runs where the RDMA device is.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/prompt.sh [ROUNDS]
Measures on this machine if it has an RDMA device, otherwise in a virtual machine with Soft-RoCE.
Builds Verbcall and installs what is missing for that. Prints lines of name and value, the medians
of ROUNDS (default 3) rounds; each is a p50, p999 (99.9th percentile) and max, in microseconds:
  deadline_overrun    how long after its deadline of 1 to 20 ms a call returned, four at a time
  cancel              from vc_cancel() until the call had returned
  call_alone          calls in turn, for five seconds
  call_beside_sleeper the same, while a handler of the same session sleeps these five seconds
  sleeper_delays_us   the max of these minus that of those
Let nothing else run beside it.
END
}

summary()
{
    bench_awk '
        { add($1, $2 + 0) }
        END {
            for (i = 1; i <= n_names; i++)
                printf "%s %.0f\n", names[i], median(names[i])
            printf "sleeper_delays_us %.0f\n", median("call_beside_sleeper_max_us") - median("call_alone_max_us")
            print "rounds", n["cancel_p50_us"]
        }'
}

bench_rounds 3 "$@"
bench_run prompt build prompt_inside.sh "$rounds"
summary <bench/prompt.out
