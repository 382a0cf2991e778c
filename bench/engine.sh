#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The engine's performance with many callers, few, and none; see usage() below. engine_inside.sh is the part that runs where the
# RDMA device is.
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
  threads_N_..., processes_N_...  N blocking callers of 64 bytes, threads of one channel or processes:
                                 calls a second together, the least share of one (1: equal), median,
                                 p99 and p999 in microseconds, processor time of both ends in percent
  processes_8_never_..., engines_2_processes_N_...
                                 the same by ends that never spin; with a server of two engines
  at_N_..., at_N_never_...       the same of one caller that makes N calls a second
  ..._over_...                   ratios of these
  blocking_NxMS_ms               until N handlers that sleep so long, called at once, have answered
  blocking_N_quick_..._p99_us    of a quick call alone, and beside them
  stream_down_64_over_up         messages of 64 bytes a second by a handler, over those to one
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

bench_rounds 5 "$@"
bench_run engine build engine_inside.sh "$rounds"
bench_awk "$(cat "$top/bench/engine.awk" "$top/bench/engine_ratios.awk")" <bench/engine.out
