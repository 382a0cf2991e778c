#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# compare_inside.sh COMMIT_BUILD TREE_BUILD SECONDS all|time|instructions PLANT: the part of compare.sh that runs where the
# RDMA device is, in the folder of steady.so. Prints compare.sh's lines.
set -u
bench=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
# shellcheck source=examples/servers.sh
. "$bench/../examples/servers.sh"

commit=$1 tree=$2 seconds=$3 only=$4 plant=$5
count=2000          # calls in one run; in a guest they take about as long as starting the run
look_every=4        # blocks
short=200 long=1200 # calls in the two runs under callgrind
spin=0              # nanoseconds that are wasted in each call of the tree

die()
{
    echo "bench: $*" >&2
    exit 1
}

# Prints the path of that build's call_lat: the program itself, not libtool's script, which takes long to start.
program()
{
    if [ -x "$1/bench/.libs/call_lat" ]; then
        echo "$1/bench/.libs/call_lat"
    else
        echo "$1/bench/call_lat"
    fi
}

# --- times ---------------------------------------------------------------

# start BUILD: starts its server, whose port is then $vc_port.
start()
{
    vc_server_start env LD_LIBRARY_PATH="$1/.libs" "$(program "$1")" server "$(vc_target 0)" ||
        die "call_lat of $1 does not serve"
}

# client BUILD PORT [NS]: makes calls, and leaves in $tmp/said what call_lat says of them.
client()
{
    folder=$1 target=$(vc_target "$2")
    shift 2
    env LD_LIBRARY_PATH="$folder/.libs" timeout 600 \
        "$(program "$folder")" client "$target" 64 "$count" "$@" >"$tmp/said" || die "call_lat of $folder failed"
}

# Prints the time that the last client's calls took, by the name $key.
time_of_call()
{
    sed -n "s/^$key //p" "$tmp/said"
}

# Which time counts: that of calls that nothing disturbed, or the median if one of the programs does not print it. Each
# program runs once besides, so that it has been read from the disk.
choose_key()
{
    key=fast_us
    for one in "$commit" "$tree"; do
        start "$one"
        client "$one" "$vc_port"
        vc_server_stop || die 'call_lat failed'
        [ -n "$(time_of_call)" ] || key=median_us
    done
    echo "bench: $key is compared" >&2
}

# Sets $spin to $plant percent of a call's time, of the fastest of three runs.
choose_spin()
{
    start "$tree"
    for one in 1 2 3; do
        client "$tree" "$vc_port"
        time_of_call
    done >"$tmp/spins"
    vc_server_stop || die 'call_lat failed'
    spin=$(sort -n "$tmp/spins" | awk -v percent="$plant" 'NR == 1 { printf "%d", percent / 100 * $1 * 1000 }')
    echo "bench: planted in each call of the tree: $plant percent, $spin ns" >&2
}

start_commit()
{
    start "$commit"
    commit_port=$vc_port
}

start_tree()
{
    start "$tree"
    tree_port=$vc_port
}

run_commit()
{
    client "$commit" "$commit_port"
    commit_times="$commit_times $(time_of_call)"
}

run_tree()
{
    if [ "$spin" -eq 0 ]; then
        client "$tree" "$tree_port"
    else
        client "$tree" "$tree_port" "$spin"
    fi
    tree_times="$tree_times $(time_of_call)"
}

# block N: new processes of both, as blocks must not depend on each other, and four runs: ABBA, or if N is odd BAAB.
block()
{
    commit_times='' tree_times=''
    steps='start_commit start_tree run_commit run_tree run_tree run_commit'
    [ $(($1 % 2)) -eq 0 ] || steps='start_tree start_commit run_tree run_commit run_commit run_tree'
    for step in $steps; do
        "$step"
    done
    echo "$commit_times $tree_times" >>"$tmp/blocks"
    vc_server_stop || die 'call_lat failed'
}

judge()
{
    awk -v final="$1" -f "$bench/ratio.awk" "$tmp/blocks"
}

# median_of FIELD FIELD: of the times of all blocks.
median_of()
{
    awk -v a="$1" -v b="$2" '{ print $a; print $b }' "$tmp/blocks" | sort -n |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

compare_times()
{
    : >"$tmp/blocks"
    choose_key
    [ "$plant" -eq 0 ] || choose_spin
    end=$(($(date +%s) + seconds))
    n=0 word=undecided final=0
    while [ "$word" = undecided ]; do
        [ "$(date +%s)" -lt "$end" ] || { final=1; break; }
        block "$n"
        [ $(((n += 1) % look_every)) -eq 0 ] || continue
        word=$(judge 0 | sed -n 's/^word //p')
        echo "bench: $(judge 0 | xargs)" >&2
    done
    judge "$final" >"$tmp/judged"
    word=$(sed -n 's/^word //p' "$tmp/judged")
    sed '/^word /d' "$tmp/judged"
    echo "tree_call_us $(median_of 3 4)"
    echo "commit_call_us $(median_of 1 2)"
}

# --- instructions --------------------------------------------------------

# Prints how many instructions callgrind has written to that file.
counted()
{
    sed -n 's/^totals: //p' "$1"
}

# count_once BUILD CALLS: a server and a client under callgrind, by $mode. Sets $at_client and $at_server.
count_once()
{
    folder=$1 calls=$2
    set -- env LD_LIBRARY_PATH="$folder/.libs"
    [ "$mode" = polling ] || set -- "$@" LD_PRELOAD="$PWD/steady.so"
    set -- "$@" valgrind -q --tool=callgrind --fair-sched=yes
    [ "$mode" = polling ] || set -- "$@" --collect-atstart=no
    vc_server_start "$@" --callgrind-out-file="$tmp/server" "$(program "$folder")" server "$(vc_target 0)" &&
        timeout 600 "$@" --callgrind-out-file="$tmp/client" "$(program "$folder")" \
            client "$(vc_target "$vc_port")" 64 "$calls" >/dev/null &&
        vc_server_stop && at_client=$(counted "$tmp/client") && at_server=$(counted "$tmp/server") && return
    vc_server_stop
    return 1
}

# count_calls MODE BUILD: prints the instructions of one call "CLIENT SERVER". The difference of two lengths: starting,
# connecting and ending cancel.
count_calls()
{
    mode=$1
    echo "bench: counting instructions of $2 ($mode)" >&2
    count_once "$2" "$short" || return 1
    client_short=$at_client server_short=$at_server
    count_once "$2" "$long" || return 1
    echo "$at_client $client_short $at_server $server_short" |
        awk -v calls=$((long - short)) '{ printf "%.2f %.2f\n", ($1 - $2) / calls, ($3 - $4) / calls }'
}

# compare_counts MODE: prints both builds' and their ratio.
compare_counts()
{
    if ! of_tree=$(count_calls "$1" "$tree") || ! of_commit=$(count_calls "$1" "$commit"); then
        echo "bench: instructions ($1) could not be counted" >&2
        return 1
    fi
    name=instructions
    [ "$1" = steady ] || name=$1
    echo "$of_tree $of_commit" | awk -v name="$name" '
        function show(side, tree, commit) {
            printf "%s_%s_tree %s\n%s_%s_commit %s\n", side, name, tree, side, name, commit
            if (commit > 0)
                printf "%s_%s_ratio %.4f\n", side, name, tree / commit
        }
        { show("client", $1, $3); show("server", $2, $4) }'
}

tmp=$(mktemp -d) || exit 1
vc_start_s=120 vc_stop_s=60
word=none
[ "$only" = instructions ] || compare_times
if [ "$only" != time ]; then
    vc_start_s=300 vc_stop_s=120 # under callgrind
    compare_counts steady
    compare_counts polling
fi
echo "verdict $word"
rm -r "$tmp"
