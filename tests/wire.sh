#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/wire.sh BUILD: a server in one guest and its client in another, joined by a wire that is cut and made bad under
# them. Prints the TAP of tests/suite/test_wire.c, whose client says what is to happen to the wire: it makes a file
# `ask` with a word in it, and we remove that when it is done.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
build=$(CDPATH='' cd -- "$1" && pwd -P) && cd -- "$build" || exit 1

export UBSAN_OPTIONS="${UBSAN_OPTIONS-}:print_stacktrace=1:halt_on_error=1"
export TSAN_OPTIONS="${TSAN_OPTIONS-}:suppressions='$here/tsan.supp'"

# Each guest, with the other's load on few cores.
limit=600

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

# guest NAME END ROLE: starts one, with a monitor of that name.
guest()
{
    mkfifo "$folder/$1.in" "$folder/$1.out" || exit 1
    "$here/vm/run" --timeout "$limit" --memory 1024 --share "$folder" --wire "$2:$folder/socket" \
        --monitor "$folder/$1" -- "$build/tests/suite/test_wire" "$3" "$folder" >"$folder/$1.log" 2>&1 &
    pids="$pids $!"
}

# Has the guest of this name turn its end of the wire off or on. Opened for reading, too, a fifo makes nobody wait.
wire_end()
{
    echo "set_link wire $2" 1<>"$folder/$1.in"
}

# What the client asks for, a word: the wire cut at both ends, at the server's only, and mended.
carry_out()
{
    case $1 in
    cut-both) wire_end server off && wire_end client off ;;
    cut-far) wire_end server off ;;
    mend) wire_end server on && wire_end client on ;;
    *) echo "# wire.sh: asked for $1" ;;
    esac
}

guest server listen serve
server=$!
guest client connect call
client=$!

# The client's word is all there when the file has its name.
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
# Told by the client to end, the server does it as a program does.
[ $status -ne 0 ] && kill "$server"
wait "$server"
ended=$?
pids=
if [ $status -ne 0 ] || [ $ended -ne 0 ]; then
    echo "# the server's guest ended with status $ended and these words:"
    tail -n 40 "$folder/server.log" | sed 's/^/# /'
fi
[ $status -eq 0 ] && [ $ended -eq 0 ]
