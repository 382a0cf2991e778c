#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# engine_inside.sh ROUNDS: the part of engine.sh that runs where the RDMA device is, in the build folder. Prints lines of
# name and value, several of a name: one a round.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

seconds=10 # that links idle

die()
{
    echo "bench: $*" >&2
    exit 1
}

# idle LINKS THREADS KEEPALIVE_MS
idle()
{
    vc_server_start bench/pool_server "$(vc_target 0)" || die 'pool_server does not serve'
    timeout 200 bench/idle "$(vc_target "$vc_port")" "$1" "$seconds" "$2" "$3" || die "idle $* failed with status $?"
    vc_server_stop || die 'pool_server failed'
}

rounds=$1
round=0
while [ $((round += 1)) -le "$rounds" ]; do
    echo "bench: idle links, round $round of $rounds" >&2
    idle 1 0 1000
    idle 400 0 1000
    idle 400 1 1000
    idle 400 0 0
    idle 400 1 0
    idle 1000 0 1000
    idle 1000 1 1000
done
