#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# compare_inside.sh COMMIT_BUILD TREE_BUILD time SECONDS PLANT
# compare_inside.sh COMMIT_BUILD TREE_BUILD instructions
# The part of compare.sh that runs where the RDMA device is, in the folder of steady.so. Prints compare.sh's lines.
set -u
bench=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
# shellcheck source=examples/servers.sh
. "$bench/../examples/servers.sh"

commit=$1 tree=$2 what=$3 seconds=${4-0} plant=${5-0}
count=500           # calls in a turn
turns=10            # in a block, of each
look_every=4        # blocks
short=200 long=1200 # calls in the two runs under callgrind
spin=''             # nanoseconds by which each call of the tree is made longer

die()
{
    echo "bench: $*" >&2
    exit 1
}

# Prints the path of that build's call_lat: the program itself, not libtool's script, which starts slowly.
program()
{
    if [ -x "$1/bench/.libs/call_lat" ]; then
        echo "$1/bench/.libs/call_lat"
    else
        echo "$1/bench/call_lat"
    fi
}

# --- times ---------------------------------------------------------------

# run BUILD NAME [NS]: runs a program that makes a turn of calls for each line that is written to $tmp/NAME.in.
run()
{
    folder=$1 name=$2
    shift 2
    exec env LD_LIBRARY_PATH="$folder/.libs" timeout 600 \
        "$(program "$folder")" turns "$(vc_target 0)" 64 "$count" "$@" <"$tmp/$name.in" >"$tmp/$name.out"
}

start_commit()
{
    run "$commit" commit 3>&- 4<&- 5>&- 6<&- &
    commit_run=$!
    exec 3>"$tmp/commit.in" 4<"$tmp/commit.out"
    turn_commit # the first one is slower
}

start_tree()
{
    # shellcheck disable=SC2086 # no word or one
    run "$tree" tree $spin 3>&- 4<&- 5>&- 6<&- &
    tree_run=$!
    exec 5>"$tmp/tree.in" 6<"$tmp/tree.out"
    turn_tree
}

turn_commit()
{
    echo >&3
    read -r commit_us <&4 || die "call_lat of $commit failed, or is too old to take turns"
}

turn_tree()
{
    echo >&5
    read -r tree_us <&6 || die "call_lat of $tree failed"
}

# block N: starts new processes of both, as blocks must be independent, and runs their turns in the order ABBA.
block()
{
    steps='start_commit start_tree'
    [ $(($1 % 2)) -eq 0 ] || steps='start_tree start_commit'
    for step in $steps; do
        "$step"
    done
    turn=0
    while [ $((turn += 1)) -le "$turns" ]; do
        steps='turn_commit turn_tree'
        [ $((turn % 2)) -eq 0 ] || steps='turn_tree turn_commit'
        for step in $steps; do
            "$step"
        done
        echo "$1 $commit_us $tree_us"
    done >>"$tmp/turns"
    exec 3>&- 4<&- 5>&- 6<&-
    wait "$commit_run" || die "call_lat of $commit ended with status $?"
    wait "$tree_run" || die "call_lat of $tree ended with status $?"
}

# Sets $spin to $plant percent of a call's time. By then both programs have been read from the disk.
choose_spin()
{
    block 0
    [ "$plant" -ne 0 ] || return
    spin=$(median_of 3 | awk -v percent="$plant" '{ printf "%d", percent / 100 * $1 * 1000 }')
    echo "bench: planted in each call of the tree: $plant percent, $spin ns" >&2
}

judge()
{
    awk -v final="$1" -f "$bench/ratio.awk" "$tmp/turns"
}

# median_of FIELD: prints the median of all turns.
median_of()
{
    awk -v field="$1" '{ print $field }' "$tmp/turns" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

compare_times()
{
    mkfifo "$tmp/commit.in" "$tmp/commit.out" "$tmp/tree.in" "$tmp/tree.out" || exit 1
    choose_spin
    : >"$tmp/turns"
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
    echo "tree_call_us $(median_of 3)"
    echo "commit_call_us $(median_of 2)"
    echo "verdict $word"
}

# --- instructions --------------------------------------------------------

# Prints how many instructions callgrind has written to that file.
counted()
{
    sed -n 's/^totals: //p' "$1"
}

# count_once BUILD CALLS: runs a server and a client under callgrind, by $mode. Sets $at_client and $at_server.
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

# count_calls MODE BUILD: prints the instructions of one call "CLIENT SERVER", from the difference of two lengths: the cost of
# starting, connecting and ending cancels out. The longer run counts less than the shorter one if a stall in it was taken for its
# end (LAST_WAITS in steady.c); such figures are no result, and both runs are repeated.
count_calls()
{
    mode=$1
    for try in 1 2 3; do
        echo "bench: counting instructions of $2 ($mode), attempt $try" >&2
        count_once "$2" "$short" || return 1
        client_short=$at_client server_short=$at_server
        count_once "$2" "$long" || return 1
        echo "$at_client $client_short $at_server $server_short" |
            awk -v calls=$((long - short)) '
                $1 <= $2 || $3 <= $4 { exit 1 }
                { printf "%.2f %.2f\n", ($1 - $2) / calls, ($3 - $4) / calls }' && return
    done
    return 1
}

# compare_counts MODE: prints the counts of both builds and their ratio.
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

trap '' PIPE # reading from a program shows that it has ended
tmp=$(mktemp -d) || exit 1
case $what in
time) compare_times ;;
instructions)
    vc_start_s=300 vc_stop_s=120 # under callgrind
    compare_counts steady && compare_counts polling ;;
esac
status=$?
rm -r "$tmp"
exit "$status"
