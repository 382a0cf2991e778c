#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The behaviour of a server that gets more calls than it can serve; see usage() below. overload_inside.sh is the part that runs
# where the RDMA device is.
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
                                 answered in time over what the closed loop reaches, of four loads each
                                 between two closed loops
  NAME_recovery_..., NAME_after_...
                                 of a fifth of the capacity, in the second after that load, and in the next
  NAME_polite_share_beside_N_floods
                                 of the calls of a client that asks for a quarter of its equal share of the
                                 capacity, those answered in time while N others offer ten times the
                                 capacity together
  NAME_critical_share_beside_sheddable
                                 of critical calls, those answered in time while sheddable ones are offered at
                                 ten times the capacity
  NAME_share_after_halt          of half of the capacity, those answered in time from 100 ms on after the
                                 server was halted for 200 ms
  beside_WHAT_p99_over_alone     of another client's quick calls, beside one with 300 streams that it does not
                                 read (streams), with 300 calls to a handler that does not end (endless), or
                                 halted with 1,000 long requests under way (half); beside_WHAT_failed of them
  memory_N_clients_...           200 requests of 4 MiB of N clients to a server with a max_memory of 256 MiB:
                                 how many were answered (ok) and shed, its resident memory in MiB before, at
                                 its peak, and how much of it is left 5 s later
Let nothing else run beside it.
END
}

bench_rounds 5 "$@"
bench_run overload build overload_inside.sh "$rounds"
bench_awk 'NF == 2 { add($1, $2 + 0) } END { for (k = 1; k <= n_names; k++) print names[k], median(names[k]) }' <bench/overload.out
