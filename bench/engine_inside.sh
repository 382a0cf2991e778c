#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# engine_inside.sh ROUNDS [short]: the part of engine.sh that runs where the RDMA device is, in the build folder. Prints a line
# "round" at the begin of each round, and lines of name and value. short: only what check.sh judges.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

die()
{
    echo "bench: $*" >&2
    exit 1
}

# against SERVER SERVER_OPTIONS CLIENT [OPTION] ARGUMENT...: runs the client; in its arguments TARGET stands for the server's
# target.
against()
{
    server=$1 options=$2
    shift 2
    # shellcheck disable=SC2086 # words
    case $server in
    prompt) vc_server_start bench/prompt server "$(vc_target 0)" ;;
    *) vc_server_start "bench/$server" $options "$(vc_target 0)" ;;
    esac || die "$server does not serve"
    target=$(vc_target "$vc_port")
    for argument; do
        shift
        [ "$argument" != TARGET ] || argument=$target
        set -- "$@" "$argument"
    done
    timeout 200 "$@" || die "$* failed with status $?"
    vc_server_stop || die "$server failed"
}

# callers NAME PROCESSES THREADS RATE [SERVER_OPTIONS [CLIENT_OPTION]]
callers()
{
    # shellcheck disable=SC2086 # words
    against pool_server "${5-}" bench/callers ${6-} TARGET "$1" "$2" "$3" 1000 "$4"
}

# idle LINKS THREADS KEEPALIVE_MS [SERVER_OPTION]
idle()
{
    against pool_server "${4-}" bench/idle TARGET "$1" 10 "$2" "$3"
}

callers_of_all_sorts()
{
    for n in 1 2 4 16; do
        callers "threads_$n" 1 $n 0
    done
    for n in $processes; do
        callers "processes_$n" "$n" 1 0
    done
    callers processes_8_never 8 1 0 -n -n
    for n in $engines; do
        callers "engines_2_processes_$n" "$n" 1 0 '-e 2'
    done
    for n in 100 300 1000; do
        callers "at_$n" 1 1 $n
        callers "at_${n}_never" 1 1 $n -n -n
    done
}

rounds=$1 processes='1 2 4 8' engines='2 4'
[ "${2-}" != short ] || processes=8 engines=
round=0
while [ $((round += 1)) -le "$rounds" ]; do
    echo round
    echo "bench: callers, round $round of $rounds" >&2
    callers_of_all_sorts
    echo "bench: handlers that block, and streams, round $round of $rounds" >&2
    for n in 64 256; do
        against prompt '' bench/blocking TARGET $n 20 5
    done
    against pool_server '' bench/streams TARGET 64 100000
    echo "bench: idle links, round $round of $rounds" >&2
    idle 400 0 1000
    idle 400 1 1000
    [ "${2-}" != short ] || continue
    callers at_5000 1 1 5000
    idle 1 0 1000
    idle 400 0 0 -k
    idle 400 1 0 -k
    idle 1000 0 1000
    idle 1000 1 1000
done
