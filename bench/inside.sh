#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# inside.sh ROUNDS [COUNT [SCHEME]]: the part of latency.sh and datagram.sh (whose scheme is rdma+ud) that runs where the RDMA
# device is, in the build folder. Prints one line a measurement, "send_lat SIZE MICROSECONDS" or "call SIZE MICROSECONDS".
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

count=${2-5000} # round trips, or calls, in one measurement
port=18533      # of ib_send_lat
perftest=       # its server
sizes='64 4096' # bytes
connection=RC   # of ib_send_lat
if [ "${3-}" = rdma+ud ]; then
    export VC_TEST_SCHEME="$3"
    sizes=64 connection=UD
fi

die()
{
    [ -z "$perftest" ] || kill "$perftest"
    echo "bench: $*" >&2
    exit 1
}

# Waits until a server listens at the port; at most 20 seconds.
wait_for_listener()
{
    tries=0
    until rdma resource show cm_id state LISTEN | grep -q ":$port "; do
        [ $((tries += 1)) -le 200 ] || return 1
        sleep 0.1
    done
}

# send_lat SIZE: prints the typical time of one way by ib_send_lat.
send_lat()
{
    timeout 60 ib_send_lat -R -F -c "$connection" -p "$port" -s "$1" -n "$count" >/dev/null 2>&1 &
    perftest=$!
    wait_for_listener || die 'ib_send_lat does not listen'
    timeout 60 ib_send_lat -R -F -c "$connection" -p "$port" -s "$1" -n "$count" "$VC_TEST_ADDR" >"$tmp" 2>&1
    ended=$?
    wait "$perftest" || ended=$?
    perftest=
    typical=$(awk -v size="$1" '$1 == size && NF >= 6 { print $5 }' "$tmp")
    if [ "$ended" -ne 0 ] || [ -z "$typical" ]; then
        cat "$tmp" >&2
        die "ib_send_lat failed with status $ended"
    fi
    echo "send_lat $1 $typical"
}

# call SIZE: prints the median time of a call.
call()
{
    timeout 60 bench/call_lat client "$(vc_target "$vc_port")" "$1" "$count" >"$tmp" || die 'call_lat failed'
    sed -n "s/^median_us /call $1 /p" "$tmp"
}

tmp=$(mktemp) || exit 1
vc_server_start bench/call_lat server "$(vc_target 0)" || die 'call_lat does not serve'
round=0
while [ $((round += 1)) -le "$1" ]; do
    echo "bench: round $round of $1" >&2
    for size in $sizes; do
        send_lat "$size"
        call "$size"
    done
done
rm "$tmp"
vc_server_stop || die 'call_lat failed'
