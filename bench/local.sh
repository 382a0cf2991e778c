#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Calls between processes of one machine, through shared memory and over TCP, compared with other libraries; see usage() below.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/local.sh [ROUNDS]
Calls between two processes of this machine, each on a processor of its own, by shm: and by tcp: on the
loopback interface; UCX and gRPC do the same in the same round. Builds Verbcall and installs what is
missing. Prints lines of name and value, medians of all rounds (default 5):
  bare_us                        two processes pass a line of flags and 64 bytes to and fro, spinning
  bare_asleep_us                 they wake each other by eventfds in epoll
  T_call_64_us, T_call_64_p99_us a blocking call of 64 bytes; T is shm, tcp, or tcp_never, which never spins
  T_asleep_us                    the same when both ends sleep in between
  T_calls_per_s                  asynchronous ones with 64 under way, from one thread
  T_1mib_mb_per_s                requests of 1 MiB with 4 under way, in bytes a microsecond
  T_call_64_beside_64mib_p99_over_alone
                                 beside an upload of 64 MiB on the same link
  T_idle_link_kib_server, ..._client
                                 resident memory of an idle link, in KiB
  T_call_64_beside_N_idle_over_alone, T_idle_N_cpu_percent
                                 beside N idle links; what they cost with a library thread
  ucx_..., grpc_...              ucx_perftest's ucp_am_lat (twice: there and back) and ucp_am_bw; gRPC C++
  uring_N_over_sockets           N messages of 64 bytes over TCP by io_uring, over what recv() and send() do
  shm_call_64_minus_bare_us, ..._over_...
                                 of two of these in each round
Let nothing else run beside it.
END
}

bench_rounds 5 "$@"
bench_prepare build
vc_need_packages local || die 'cannot compare it without these packages'
vc_build "$build" || die 'it does not build'
cd "$build" || exit 1
sh "$top/bench/local_inside.sh" "$top" "$rounds" >bench/local.out || die 'it failed'
bench_awk 'NF == 2 { add($1, $2 + 0) } END { for (k = 1; k <= n_names; k++) print names[k], median(names[k]) }' <bench/local.out
