#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# local_inside.sh TOP ROUNDS: what local.sh runs, in the build folder; TOP is the folder of the sources. Prints lines of
# name and value.
set -u
export VC_TEST_ADDR=127.0.0.1
# shellcheck source=examples/servers.sh
. "$1/examples/servers.sh"

die()
{
    echo "bench: $*" >&2
    exit 1
}

# local NAME SERVER_OPTIONS TARGET ARGUMENT...: runs a client of a server with these options
ours()
{
    name=$1 server_options=$2 target=$3
    shift 3
    # shellcheck disable=SC2086 # words
    vc_server_start taskset -c 0 bench/pool_server $server_options -m 1024 "$target" || die 'pool_server does not serve'
    case $target in tcp://*) target=tcp://127.0.0.1:$vc_port ;; esac
    flags=
    case $server_options in *-n*) flags=-n ;; esac
    # shellcheck disable=SC2086 # words
    timeout 120 taskset -c 1 bench/local $flags "$target" "$name" "$@" || die "local $* failed"
    vc_server_stop || die 'pool_server failed'
}

# ucx NAME TRANSPORTS TEST FIELD FACTOR COUNT: prints a figure of ucx_perftest
ucx()
{
    UCX_TLS=$2 UCX_NET_DEVICES=${ucx_devices:-all} taskset -c 0 ucx_perftest -p 13471 >/dev/null 2>&1 &
    ucx_server=$!
    sleep 0.5 # it prints no line when it listens
    UCX_TLS=$2 UCX_NET_DEVICES=${ucx_devices:-all} timeout 60 taskset -c 1 \
        ucx_perftest -p 13471 127.0.0.1 -t "$3" -s 64 -n "$6" -w 1000 2>/dev/null |
        awk -v name="$1" -v field="$4" -v factor="$5" '$1 == "Final:" { print name, $field * factor }'
    wait "$ucx_server"
}

# grpc sync|callback
grpc()
{
    taskset -c 0 bench/peers/grpc_peer server "$1" 127.0.0.1:13472 >/dev/null &
    grpc_server=$!
    sleep 1
    timeout 60 taskset -c 1 bench/peers/grpc_peer client "$1" 127.0.0.1:13472 5000 || die 'grpc_peer failed'
    kill "$grpc_server"
    wait "$grpc_server" 2>/dev/null
}

peers=bench/peers
mkdir -p $peers &&
    protoc -I"$1/bench/peers" --cpp_out=$peers --grpc_out=$peers --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" \
        "$1/bench/peers/peer.proto" &&
    g++ -O2 -std=c++17 -I$peers -o $peers/grpc_peer "$1/bench/peers/grpc_peer.cc" $peers/peer.pb.cc $peers/peer.grpc.pb.cc \
        $(pkg-config --cflags --libs grpc++ protobuf) || die 'grpc_peer does not build'
gcc -O2 -D_GNU_SOURCE -o $peers/uring "$1/bench/peers/uring.c" -luring || die 'uring does not build'

round_print()
{
    bench/local bare
    ucx ucx_posix_call_64_us posix,self ucp_am_lat 3 2 300000
    ours shm '' shm:bench call
    ucx ucx_posix_messages_per_s posix,self ucp_am_bw 9 1 3000000
    ours shm '' shm:bench rate
    ours shm '' shm:bench upload
    ours shm '' shm:bench beside
    ours shm -n shm:bench asleep
    ours shm '' shm:bench idle 1000
    ucx_devices=lo
    ucx ucx_tcp_call_64_us tcp ucp_am_lat 3 2 30000
    ucx_devices=
    timeout 60 $peers/uring 1 200000 || die 'uring failed'
    timeout 60 $peers/uring 64 3000000 || die 'uring failed'
    ours tcp '' tcp://127.0.0.1:0 call
    ours tcp '' tcp://127.0.0.1:0 rate
    ours tcp '' tcp://127.0.0.1:0 upload
    ours tcp '' tcp://127.0.0.1:0 beside
    ours tcp -n tcp://127.0.0.1:0 asleep
    ours tcp '' tcp://127.0.0.1:0 idle 1000
    ours tcp_never -n tcp://127.0.0.1:0 call
    grpc sync
    grpc callback
}

round=0
while [ $((round += 1)) -le "$2" ]; do
    echo "bench: local, round $round of $2" >&2
    round_print | awk '
        { v[$1] = $2; print }
        function over(name, a, b) { if (b > 0) print name, a / b }
        function least(a, b) { return a < b ? a : b }
        function most(a, b) { return a > b ? a : b }
        END {
            print "shm_call_64_minus_bare_us", v["shm_call_64_us"] - v["bare_us"]
            over("shm_call_64_over_ucx", v["shm_call_64_us"], v["ucx_posix_call_64_us"])
            over("shm_rate_64_over_ucx", v["shm_calls_per_s"], v["ucx_posix_messages_per_s"])
            over("shm_1mib_over_memcpy", v["shm_1mib_mb_per_s"], v["bare_memcpy_mb_per_s"])
            over("shm_asleep_over_bare", v["shm_asleep_us"], v["bare_asleep_us"])
            over("tcp_asleep_over_bare", v["tcp_asleep_us"], v["bare_asleep_us"])
            over("tcp_call_64_over_ucx", v["tcp_call_64_us"], v["ucx_tcp_call_64_us"])
            over("tcp_call_64_over_grpc", v["tcp_never_call_64_us"],
                 least(v["grpc_sync_call_64_us"], v["grpc_callback_call_64_us"]))
            over("tcp_rate_64_over_grpc", v["tcp_calls_per_s"],
                 most(v["grpc_sync_calls_per_s"], v["grpc_callback_calls_per_s"]))
        }'
done
