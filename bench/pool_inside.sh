#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# pool_inside.sh ROUNDS [short]: the part of pool.sh that runs where the RDMA device is, in the build folder. Prints lines of
# name and value, several of a name: one a round. A measurement that is long enough runs once.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

connects=100   # of each kind, in one round
sessions=10000 # on few links
opens=1000     # of sessions, in one round
clients=1000   # that connect at once
seconds=4      # of fairness, in one round
# The server's limits of the second storm: links, half open ones, connects a second.
low='64 16 300'
if [ "${2-}" = short ]; then
    connects=30 sessions=2000 opens=100 clients=200 seconds=1
fi

die()
{
    echo "bench: $*" >&2
    exit 1
}

# Connecting without Verbcall, with new QPs, and with recycled QPs. The server prints "raw PORT, fresh PORT, ...".
recycle()
{
    raw=${vc_line#raw }
    fresh=${vc_line#*, fresh }
    timeout 120 bench/recycle client "$VC_TEST_ADDR" "${raw%%,*}" "${fresh%%,*}" "$vc_port" "$connects" ||
        die 'recycle failed'
}

# measure PROGRAM ARGUMENT...: runs it with the pool_server's target in place of @.
measure()
{
    program=$1
    mode=$2
    shift 2
    case $mode in
    @) set -- "$(vc_target "$vc_port")" "$@" ;;
    *) set -- "$mode" "$(vc_target "$vc_port")" "$@" ;;
    esac
    timeout 600 "bench/$program" "$@" || die "$program $mode failed with status $?"
}

rounds=$1
vc_server_start bench/recycle server "$VC_TEST_ADDR" || die 'recycle does not serve'
round=0
while [ $((round += 1)) -le "$rounds" ]; do
    echo "bench: connecting, round $round of $rounds" >&2
    recycle
done
vc_server_stop || die 'recycle failed'

vc_server_start bench/pool_server "$(vc_target 0)" || die 'pool_server does not serve'
round=0
while [ $((round += 1)) -le "$rounds" ]; do
    echo "bench: sessions, round $round of $rounds" >&2
    measure pool_sessions open "$opens"
    measure pool_fair @ "$seconds"
done
vc_server_stop || die 'pool_server failed'

# A new server, which frees no memory of earlier clients meanwhile.
echo "bench: $sessions sessions" >&2
vc_server_start bench/pool_server "$(vc_target 0)" || die 'pool_server does not serve'
measure pool_sessions many "$sessions"
vc_server_stop || die 'pool_server failed'

echo "bench: $clients clients at once" >&2
vc_server_start bench/pool_server "$(vc_target 0)" || die 'pool_server does not serve'
measure pool_storm all "$clients"
vc_server_stop || die 'pool_server failed'
# shellcheck disable=SC2086
vc_server_start bench/pool_server "$(vc_target 0)" $low || die 'pool_server does not serve'
measure pool_storm refused "$clients"
vc_server_stop || die 'pool_server failed'
