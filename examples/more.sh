# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced by inside.sh: the examples with streams, and the one that calls others. They end by its
# die() when something is not as it should be.
# shellcheck shell=sh

# await SECONDS COMMAND...: tries it ten times a second until it succeeds.
await()
{
    tries=$(($1 * 10))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

# says FILE LINE: whether this is one of its lines.
says()
{
    grep -qxF -- "$2" "$1"
}

# refuses TEXT COMMAND...: it fails, and says this.
refuses()
{
    text_of=$1
    shift
    if said=$("$@" 2>&1); then
        die "this should have failed: $*"
    fi
    case $said in
    *"$text_of"*) echo "$said" ;;
    *) die "'$*' said '$said', and not '$text_of'" ;;
    esac
}

# The server's share of the deadline is over half a second before the client's: on a machine that stalls for longer the
# client's own end may come first, so it has three tries.
refuses_soon()
{
    for try in 1 2 3; do
        said=$("$@" 2>&1) && die "this should have failed: $*"
        case $said in
        *'DEADLINE_EXCEEDED: the store at'*) echo "$said"; return ;;
        *DEADLINE_EXCEEDED*) ;;
        *) break ;;
        esac
    done
    die "'$*' said '$said' at try $try, and not 'the store at'"
}

# Ann and Bob in one room, Eve in another one; they say what the fifos say.
chat()
{
    echo
    echo '== chat: two in a room hear each other, one in another room does not'
    room=$(mktemp -d) || die 'no folder for what is said'
    vc_server_start examples/chat/chat-server "$(vc_target 0)" || die 'chat-server did not start'
    target=$(vc_target "$vc_port")
    mkfifo "$room/ann" "$room/bob" "$room/eve" || die 'no fifos'
    for who in ann bob eve; do
        in=kitchen
        [ "$who" != eve ] || in=cellar
        timeout 60 examples/chat/chat-client "$target" "$in" "$who" <"$room/$who" >"$room/$who.out" &
        eval "$who=$!"
    done
    exec 5>"$room/ann" 6>"$room/bob" 7>"$room/eve"
    await 20 says "$room/ann.out" '* ann has come' || die 'ann did not come in'
    await 20 says "$room/bob.out" '* bob has come' || die 'bob did not come in'
    await 20 says "$room/eve.out" '* eve has come' || die 'eve did not come in'
    echo 'Is the tea ready?' >&5
    await 10 says "$room/bob.out" 'ann: Is the tea ready?' || die 'bob did not hear ann'
    echo 'It is.' >&6
    await 10 says "$room/ann.out" 'bob: It is.' || die 'ann did not hear bob'
    refuses 'choose another name' timeout 60 examples/chat/chat-client "$target" kitchen bob </dev/null
    exec 6>&- # the end of what bob says
    wait "$bob" || die 'the client of bob failed'
    await 10 says "$room/ann.out" '* bob has gone' || die 'ann did not hear that bob went'
    cat "$room/ann.out"
    if grep -q 'tea\|It is' "$room/eve.out"; then
        die 'eve heard them in the other room'
    fi
    vc_server_stop || die 'chat-server failed'
    if wait "$ann" || wait "$eve"; then # still there: told that the server has gone
        die 'a client did not notice that the server went'
    fi
    exec 5>&- 7>&-
    rm -r "$room"
}

# The guest's /tmp is its memory.
file()
{
    echo
    echo '== file: 5 MiB there and back, and what must not come back'
    there=$(mktemp -d) && here=$(mktemp -d) || die 'no folders for files'
    head -c 5242880 /dev/urandom >"$here/big" && : >"$here/empty" || die 'cannot make files'
    vc_server_start examples/file/file-server "$there" "$(vc_target 0)" || die 'file-server did not start'
    target=$(vc_target "$vc_port")
    client=examples/file/file-client
    for name in big empty; do
        "$client" "$target" put "$here/$name" || die "cannot put $name"
        "$client" "$target" get "$name" "$here/$name.back" || die "cannot get $name"
        cmp "$here/$name" "$here/$name.back" || die "$name came back changed"
    done
    "$client" "$target" put "$here/big" again & # both at a time
    second=$!
    "$client" "$target" get big "$here/big.back" || die 'cannot get big while another file is put'
    wait "$second" && cmp "$there/again" "$here/big" || die 'the second one was put wrong'
    refuses 'cannot open nothing' "$client" "$target" get nothing "$here/nothing"
    refuses 'is no name of a file here' "$client" "$target" get ../big "$here/nothing"
    refuses 'is no name of a file here' "$client" "$target" put "$here/big" ../big
    ln -s /etc/hostname "$there/link"
    refuses 'cannot open link' "$client" "$target" get link "$here/nothing"
    # As a bad disk would: sixteen bytes, as one may be the same by chance.
    dd if=/dev/zero of="$there/big" bs=16 count=1 seek=163840 conv=notrunc 2>/dev/null
    refuses 'the checksum is' "$client" "$target" get big "$here/nothing"
    left=$(find "$here" "$there" -name 'nothing*' -o -name '*.part')
    [ -z "$left" ] || die "this was left behind: $left"
    vc_server_stop || die 'file-server failed'
    rm -r "$there" "$here"
}

# The store is halted by a signal, as if it had very much to do.
fanout()
{
    echo
    echo '== fanout: a call that becomes two, with one deadline'
    printf 'the first line\n' >"$text.one" || die 'cannot write a text'
    vc_server_start examples/greeter/greeter-server "$(vc_target 0)" || die 'greeter-server did not start'
    greeter_target=$(vc_target "$vc_port")
    vc_server_start examples/kv/kv-server --listen "$(vc_target 0)" --load "$text.one" || die 'kv-server did not start'
    kv_target=$(vc_target "$vc_port")
    store=$vc_server
    vc_server_start examples/fanout/fanout-server "$greeter_target" "$kv_target" "$(vc_target 0)" ||
        die 'fanout-server did not start'
    target=$(vc_target "$vc_port")
    client=examples/fanout/fanout-client
    answer=$("$client" "$target" Ann 1) || die 'fanout-client failed'
    echo "$answer"
    [ "$answer" = "Hello, Ann
the first line" ] || die 'that is not the answer of both'
    refuses 'NOT_FOUND: the store at' "$client" "$target" Ann 99
    kill -s STOP -- "-$store"
    refuses_soon "$client" "$target" Ann 1 3000
    kill -s CONT -- "-$store"
    answer=$("$client" "$target" Bob 1) || die 'fanout-client failed after the store went on'
    vc_server_stop || die 'a server failed'
    rm "$text.one"
}

# forget SERVER: vc_server_stop() does not wait for it, as it has ended.
forget()
{
    kept=
    for one in $vc_servers; do
        [ "${one%%=*}" = "$1" ] || kept="$kept$one "
    done
    vc_servers=$kept
}

# has_lines FILE N: whether it has as many.
has_lines()
{
    [ "$(wc -l <"$1")" -ge "$2" ]
}

# answers FILE N NAME...: whether all of these servers have answered calls in one second, after the first N lines.
answers()
{
    since=$1.since
    tail -n +"$(($2 + 1))" "$1" >"$since"
    shift 2
    while read -r second; do
        for name; do
            case ", $second" in
            *", $name "[1-9]*) ;;
            *) continue 2 ;;
            esac
        done
        return 0
    done <"$since"
    return 1
}

# fleet_file LINE...: the servers of the fleet from now on. The file is replaced at once, so no reader sees a part of it.
fleet_file()
{
    printf '%s\n' "$@" >"$fleet/new" && mv "$fleet/new" "$fleet/servers"
}

# The client reads its servers from a file: three, of which c gets twice as many calls. One is ended in order, one is killed, and a
# fourth is added to the file, while the client calls.
fleet()
{
    echo
    echo '== fleet: servers from a file, of which one is drained, one killed and one added under load'
    fleet=$(mktemp -d) || die 'no room for the file of the fleet'
    said=$fleet/said
    for name in a b c d; do
        vc_server_start examples/fleet/fleet-server "$name" "$(vc_target 0)" || die "fleet-server $name did not start"
        eval "$name=$vc_server $name"_target='$(vc_target "$vc_port")'
    done
    fleet_file "$a_target" "$b_target" "$c_target weight=2"
    timeout 120 examples/fleet/fleet-client "file:$fleet/servers" weighted_round_robin 100 >"$said" &
    client=$!
    await 20 answers "$said" 0 a b c || die 'not all three answer'
    kill "$a"
    wait "$a" || die 'fleet-server a was not drained'
    forget "$a"
    await 20 answers "$said" "$(wc -l <"$said")" b c || die 'fleet-client made no calls when a was drained'
    kill -s KILL -- "-$b"
    wait "$b"
    forget "$b"
    await 20 answers "$said" "$(wc -l <"$said")" c || die 'fleet-client made no calls when b was killed'
    fleet_file "$c_target weight=2" "$d_target"
    await 20 answers "$said" "$(wc -l <"$said")" c d || die 'the server that was added gets no calls'
    kill "$client"
    wait "$client"
    ended=$?
    cat "$said"
    [ "$ended" -eq 0 ] || die 'calls have failed that should not'
    rm -r "$fleet"
    vc_server_stop || die 'a fleet-server failed'
}
