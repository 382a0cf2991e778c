#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# pool_inside.sh ROUNDS: the part of pool.sh that runs where the RDMA device is, in the build folder. Prints lines of name
# and value, several of a name: one a round.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

connects=100 # of each kind, in one round

die()
{
    echo "bench: $*" >&2
    exit 1
}

# Connecting without Verbcall, with QPs made anew, and with QPs used again. The server says "raw PORT, fresh PORT, ...".
recycle()
{
    raw=${vc_line#raw }
    fresh=${vc_line#*, fresh }
    timeout 120 bench/recycle client "$VC_TEST_ADDR" "${raw%%,*}" "${fresh%%,*}" "$vc_port" "$connects" ||
        die 'recycle failed'
}

vc_server_start bench/recycle server "$VC_TEST_ADDR" || die 'recycle does not serve'
round=0
while [ $((round += 1)) -le "$1" ]; do
    echo "bench: round $round of $1" >&2
    recycle
done
vc_server_stop || die 'recycle failed'
