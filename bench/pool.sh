#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The cost of connections, and what keeping them saves; see usage() below. pool_inside.sh is the part that runs where the RDMA
# device is.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/pool.sh [ROUNDS]
Measures connections of Verbcall on this machine if it has an RDMA device, otherwise in a virtual
machine with Soft-RoCE. Builds Verbcall and installs what is missing for that. What counts is the
median of all rounds (default 3). Prints lines of name and value:
  connect_rdma_create_qp_us      the median time from rdma_create_id() over rdma_create_qp() and
                                 rdma_connect() to ESTABLISHED, of a program without Verbcall
  connect_fresh_us               the median vc_channel_connect() when both ends make their QPs anew
  connect_recycled_us            the same when both ends use QPs again
  recycled_connect_over_rdma_create_qp, recycled_connect_over_fresh
                                 how many times as fast the third is as the first, the second
  qp_create_destroy_us           of it for the QP alone, at one end: ibv_create_qp() and ibv_destroy_qp()
  qp_reset_us                    instead of them, when it is used again
  sessions, links_used, wrong    sessions of one process that were called ten times each, the QPs that
                                 carried them (8 at most), wrong replies
  session_bytes_client, session_bytes_server
                                 memory that each of them takes while idle (512 at most)
  pool_call_us                   a call on a session that is old, its median
  session_open_us                the first call on a new session, with links that are up
  channel_open_us                the vc_channel_open() before it, which needs no network
  connect_cold_us                the same with vc_channel_connect() to a link of its own
  session_open_over_call         of these medians (1.2 at most)
  connect_over_session_open      (30 at least)
  fair_p99_alone_us, fair_p99_us the 99th percentile of 99 sessions' small calls, alone, and beside one that
                                 keeps eight of the largest messages of one packet under way on the same QP
  fair_p99_ratio, fair_p50_ratio of these, and of the medians (5 at most)
  fair_small_calls_per_s, fair_greedy_mib_per_s
                                 what either got then
  storm_served, storm_slowest_ms clients of 1000 that connected at once and were served, and the last of them
  storm_served_share             of them (1 at least)
  storm_server_pinned_mib        what the server had pinned for them (256, its memory_limit, at most)
  storm_refused                  clients of 1000 that a server with low limits refused for longer than their
                                 connect timeout of 2 s
  storm_later_served             of them those that it served when they tried again
  storm_limited_served, storm_limited_slowest_ms
                                 all that it served, and the last of them
  rounds                         how many there were
Let nothing else run beside it.
END
}

# Prints the median of each name in pool_inside.sh's lines, in the order in which the names first appear.
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

bench_rounds 3 "$@"
bench_run pool build pool_inside.sh "$rounds"
summary <bench/pool.out
