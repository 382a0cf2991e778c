#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# How long a call takes, compared with the device itself; see usage() below. inside.sh is the part that runs where the RDMA
# device is.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/latency.sh [ROUNDS]
Compares blocking calls over Verbcall with perftest's ib_send_lat, side by side on this machine if
it has an RDMA device, otherwise in a virtual machine with Soft-RoCE. Builds Verbcall and installs
what is missing for that. Each round (default 7) runs both in turn with messages of 64 and 4096
bytes; what counts is the median of all rounds. Prints lines of name and value:
  send_lat_SIZE_us               ib_send_lat's t_typical: one way
  call_SIZE_us                   the median call, with a request and a reply of that size
  call_SIZE_over_2x_send_lat     the second over twice the first: 1 is as fast as it can be
  rounds                         how many there were
Let nothing else run beside it.
END
}

# Reads inside.sh's lines and prints the results.
summary()
{
    bench_awk '
        { add($1 " " $2, $3 + 0) }
        END {
            split("64 4096", sizes, " ")
            for (s = 1; s <= 2; s++) {
                size = sizes[s]
                printf "send_lat_%d_us %.2f\n", size, median("send_lat " size)
                printf "call_%d_us %.2f\n", size, median("call " size)
                printf "call_%d_over_2x_send_lat %.3f\n", size, median("call " size) / (2 * median("send_lat " size))
            }
            print "rounds", n["call 64"]
        }'
}

bench_rounds 7 "$@"
bench_run latency 'build bench' inside.sh "$rounds"
summary <bench/latency.out
