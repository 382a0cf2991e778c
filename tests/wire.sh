#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/wire.sh BUILD: runs a server in one guest and its client in another, joined by a wire that is cut and made unreliable
# meanwhile. Prints the TAP of tests/suite/test_wire.c. Its client requests what happens to the wire or to itself: it makes a
# file `ask` with a word in it, and this script removes the file when it has done that. VC_TEST_LONG=1 makes it take minutes.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
build=$(CDPATH='' cd -- "$1" && pwd -P) && cd -- "$build" || exit 1

export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:suppressions='$here/tsan.supp'"

# Processors of each guest, which shares few cores with the other. With two each, they would mostly wait for the host's, and
# boot half as fast.
limit=850
cpus=1
# The 200 clients of a crowd have a QP each.
memory=1024
[ "${VC_TEST_LONG-}" != 1 ] || memory=2048

# Tests compare times with a clock that slows down with the machine: see tests/suite/pace.h.
export VC_TEST_PACE=1

pids=
# shellcheck disable=SC2317 # called by trap
clean_up()
{
    # shellcheck disable=SC2086 # a list of words
    [ -z "$pids" ] || kill $pids 2>/dev/null
    wait
    cd / && rm -rf "$folder"
}
folder=$(mktemp -d "${TMPDIR:-/tmp}/verbcall-wire.XXXXXX") || exit 1
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# guest NAME END ROLE: starts a guest, with a monitor of that name.
guest()
{
    mkfifo "$folder/$1.in" "$folder/$1.out" || exit 1
    "$here/vm/run" --timeout "$limit" --memory "$memory" --cpus "$cpus" --share "$folder" \
        --wire "$2:$folder/socket" --monitor "$folder/$1" -- "$build/tests/suite/test_wire" "$3" "$folder" >"$folder/$1.log" 2>&1 &
    pids="$pids $!"
}

# Sends a command to the monitor of the guest of this name. The fifo is opened for reading, too, so that opening it does not
# block.
monitor()
{
    echo "$2" 1<>"$folder/$1.in"
}

# Turns the wire off or on at the end of the guest of this name.
wire_end()
{
    monitor "$1" "set_link wire $2"
}

# Waits until the server has made a file of this name, or its guest has ended.
await_file()
{
    until [ -e "$folder/$1" ] || ! kill -0 "$server" 2>/dev/null; do
        sleep 0.05
    done
}

# Does what the client requests by a word: the wire is cut at both ends or at the server's only, or the server's machine is
# frozen; all of that is undone; the server's machine is killed; the client's own machine is frozen until the server has
# detected that. The file `struck` notifies the server of a failure that it has to detect.
carry_out()
{
    case $1 in
    cut-both) : >"$folder/struck" && cut=1 && wire_end server off && wire_end client off ;;
    cut-far) : >"$folder/struck" && cut=1 && wire_end server off ;;
    mend)
        [ -z "$cut" ] || { cut='' && wire_end server on && wire_end client on; }
        [ -z "$frozen" ] || { frozen='' && monitor server cont; } ;;
    freeze-server) frozen=1 && monitor server stop ;;
    kill-server) killed=1 && monitor server quit ;;
    freeze-client) : >"$folder/struck" && monitor client stop && await_file found && monitor client cont ;;
    *) echo "# wire.sh: asked for $1" ;;
    esac
}

cut='' frozen='' killed=''
guest server listen serve
server=$!
guest client connect call
client=$!

# The file is complete when it has its name.
while kill -0 "$client" 2>/dev/null; do
    if [ -e "$folder/ask" ]; then
        carry_out "$(cat "$folder/ask")"
        rm "$folder/ask"
    fi
    sleep 0.05
done
wait "$client"
status=$?
cat "$folder/client.log"
# When the client asks it to end, the server exits normally.
[ $status -ne 0 ] && kill "$server" 2>/dev/null # it may have ended
wait "$server"
ended=$?
[ -z "$killed" ] || ended=0
pids=
if [ $status -ne 0 ] || [ $ended -ne 0 ]; then
    echo "# the server's guest ended with status $ended and these words:"
    tail -n 40 "$folder/server.log" | sed 's/^/# /'
fi
[ $status -eq 0 ] && [ $ended -eq 0 ]
