#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# overload_inside.sh ROUNDS [short]: the part of overload.sh that runs where the RDMA device is, in the build folder. Prints
# lines of name and value. short: only what check.sh judges.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

die()
{
    echo "bench: $*" >&2
    exit 1
}

# overload [-s OPTIONS] NAME METHOD RUN_US LONG_US DEADLINE_MS FLOODS; OPTIONS are the server's
overload()
{
    server_options=
    [ "$1" != -s ] || { server_options=$2; shift 2; }
    # shellcheck disable=SC2086
    vc_server_start bench/pool_server $server_options "$(vc_target 0)" || die 'pool_server does not serve'
    timeout 200 bench/overload "$(vc_target "$vc_port")" "$@" "$vc_server" || die "overload $1 failed with status $?"
    vc_server_stop || die 'pool_server failed'
}

# hogs [-m MIB] WHAT...
hogs()
{
    hogs_mib=
    [ "$1" != -m ] || { hogs_mib="-m $2"; shift 2; }
    # shellcheck disable=SC2086
    vc_server_start bench/pool_server $hogs_mib "$(vc_target 0)" || die 'pool_server does not serve'
    timeout 300 bench/hogs "$(vc_target "$vc_port")" "$@" || die "hogs $1 failed with status $?"
    vc_server_stop || die 'pool_server failed'
}

round=0
while [ $((round += 1)) -le "$1" ]; do
    echo "bench: overload, round $round of $1" >&2
    overload burn_400us_50ms burn 400 0 50 1
    [ "${2-}" != short ] || continue
    overload burn_400us_5ms burn 400 0 5 0
    overload burn_400us_1s burn 400 0 1000 4
    overload burn_50us_50ms burn 50 0 50 0
    overload mix_50ms burn 50 10000 50 0
    overload wait_20ms_50ms wait 20000 0 50 0
    overload -s '-c 8 -a 200' wait_for_eight_50ms wait 20000 0 50 0
    hogs streams
    hogs endless
    hogs half
    hogs -m 256 memory 1
    hogs -m 256 memory 20
done
