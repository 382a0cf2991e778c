#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# How long a call over datagrams takes, compared with the device itself; see usage() below. inside.sh is the part that runs
# where the RDMA device is.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/datagram.sh [ROUNDS]
Compares blocking calls of 64 bytes over rdma+ud with perftest's ib_send_lat -c UD, side by side on
this machine if it has an RDMA device, otherwise in a virtual machine with Soft-RoCE. Builds Verbcall
and installs what is missing for that. Each round (default 7) runs both in turn; what counts is the
median of all rounds. Prints lines of name and value:
  ud_send_lat_64_us              ib_send_lat's t_typical: one way
  ud_call_64_us                  the median call, with a request and a reply of that size
  ud_call_64_over_2x_send_lat    the second over twice the first, in each round
  rounds                         how many there were
Let nothing else run beside it.
END
}

bench_rounds 7 "$@"
bench_run datagram 'build bench' inside.sh "$rounds" 5000 rdma+ud
bench_awk '
    { add($1, $3 + 0) }
    $1 == "send_lat" { sent = $3 }
    $1 == "call" { add("ratio", $3 / (2 * sent)) }
    END {
        printf "ud_send_lat_64_us %.2f\nud_call_64_us %.2f\n", median("send_lat"), median("call")
        printf "ud_call_64_over_2x_send_lat %.3f\nrounds %d\n", median("ratio"), n["call"]
    }' <bench/datagram.out
