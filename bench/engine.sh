#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# What the engine does with many callers, few, and none: see usage() below. What runs beside the RDMA device is in
# engine_inside.sh.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/engine.sh [ROUNDS]
Measures the engine of Verbcall on this machine if it has an RDMA device, otherwise in a virtual
machine with Soft-RoCE. Builds Verbcall and installs what is missing for that. What counts is the
median of all rounds (default 5). Prints lines of name and value:
  idle_N_links_cpu_percent_server, idle_N_links_wakeups_server
                                 what a server with N links does that carry nothing, of a client without
                                 library threads: percent of a processor, wake-ups a second
  idle_N_links_cpu_percent_client, idle_N_links_wakeups_client
                                 the same of a client with a library thread, whose keepalive asks the
                                 server's process
  idle_N_links_cpu_percent_asked_server, idle_N_links_wakeups_asked_server
                                 the same of the server that is asked so
  idle_N_links_keepalive_off_... the same without keepalive
  rounds                         how many there were
Let nothing else run beside it.
END
}

# Prints the median of each name of engine_inside.sh's lines, in the order of their first.
summary()
{
    bench_awk '
        NF == 2 { add($1, $2 + 0) }
        END {
            for (k = 1; k <= n_names; k++)
                print names[k], median(names[k])
            print "rounds", n[names[1]]
        }'
}

bench_rounds 5 "$@"
bench_run engine build engine_inside.sh "$rounds"
summary <bench/engine.out
