#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What a server does with more calls than it can serve: see usage() below. What runs beside the RDMA device is in
# overload_inside.sh.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/overload.sh [ROUNDS]
Offers a server more calls than it can serve, on this machine if it has an RDMA device, otherwise in
a virtual machine with Soft-RoCE. Builds Verbcall and installs what is missing for that. Prints lines
of name and value, medians of all rounds (default 5). NAME is burn_RUN_DEADLINE (handlers take so
much processor), mix_DEADLINE (every hundredth 10 ms, others 50 us) or wait_RUN_DEADLINE (handlers
wait so long):
  NAME_capacity                  calls a second that a closed loop of 16 reaches
  NAME_half_..., NAME_2x_..., NAME_10x_...
                                 when half of that, twice and ten times as many are offered at a steady
                                 rate without retries, each second: answered in time (per_second),
                                 asked, expired, refused
  NAME_goodput_2x_over_capacity, NAME_goodput_10x_over_capacity
                                 answered in time over the capacity
  NAME_after_...                 of a fifth of the capacity, at once after that
  NAME_polite_share_beside_N_floods
                                 of 400 calls a second, those answered in time while N clients offer ten
                                 times the capacity together
Let nothing else run beside it.
END
}

bench_rounds 5 "$@"
bench_run overload build overload_inside.sh "$rounds"
bench_awk 'NF == 2 { add($1, $2 + 0) } END { for (k = 1; k <= n_names; k++) print names[k], median(names[k]) }' <bench/overload.out
